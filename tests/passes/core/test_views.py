"""Stride arithmetic against PyTorch's own views."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.passes.core.views import view_strides

SIZES = st.lists(st.sampled_from([0, 1, 1, 2, 2, 3, 4]), min_size=0, max_size=4)


@st.composite
def strided(draw):
    """A tensor with any mixture of permuted, sliced and expanded dimensions."""
    shape = draw(SIZES)
    tensor = torch.zeros(shape)
    tensor = tensor.permute(draw(st.permutations(range(len(shape)))))
    for axis, size in enumerate(tensor.shape):
        change = draw(st.sampled_from(["keep", "keep", "step", "expand"]))
        if change == "step":
            tensor = tensor.narrow(axis, 0, size)[(slice(None),) * axis + (slice(None, None, 2),)]
        elif change == "expand" and size == 1:
            tensor = tensor.expand(*tensor.shape[:axis], 3, *tensor.shape[axis + 1 :])
    return tensor


@st.composite
def regrouped(draw, tensor):
    """A shape with the same number of elements: dimensions merged, split, inserted."""
    dims = list(tensor.shape)
    for _ in range(draw(st.integers(0, 3))):
        choice = draw(st.sampled_from(["merge", "split", "one"]))
        if choice == "merge" and len(dims) >= 2:
            at = draw(st.integers(0, len(dims) - 2))
            dims[at : at + 2] = [dims[at] * dims[at + 1]]
        elif choice == "split" and dims:
            at = draw(st.integers(0, len(dims) - 1))
            by = draw(st.sampled_from([1, 2, 3]))
            if dims[at] % by == 0:
                dims[at : at + 1] = [by, dims[at] // by]
        elif choice == "one":
            dims.insert(draw(st.integers(0, len(dims))), 1)
    return dims


@settings(deadline=None, max_examples=500)
@given(st.data())
def test_view_strides_are_those_of_pytorch_and_refused_where_it_refuses(data):
    tensor = data.draw(strided())
    shape = data.draw(regrouped(tensor))
    got = view_strides(type_of(tensor), shape)
    try:
        want = type_of(tensor.view(shape))
    except RuntimeError:
        assert got is None
    else:
        assert got == want.strides


def test_another_number_of_elements_is_no_view():
    assert view_strides(type_of(torch.zeros(2, 3)), (5,)) is None
