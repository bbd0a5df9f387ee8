"""Attention with parameters that hypothesis draws, on every instruction set."""

import torch
from attention_cases import Setting, assert_meets_contract, attend, padded, variants
from hypothesis import given, settings
from hypothesis import strategies as st

LENGTHS = st.one_of(st.integers(1, 40), st.sampled_from([64, 127, 130, 300]))
KEYS = st.one_of(st.integers(1, 70), st.sampled_from([127, 128, 255, 257, 511, 513, 1030]))
BOUNDS = st.one_of(st.none(), st.integers(-5, 300))


@st.composite
def problems(draw):
    """q, k, v, a mask or None, a setting, a count of shares."""
    dtype = draw(st.sampled_from([torch.float32, torch.bfloat16]))
    batch, groups, shared = (draw(st.integers(1, n)) for n in (2, 3, 5))
    length, keys = draw(LENGTHS), draw(KEYS)
    size, value_size = (draw(st.integers(1, 100)) for _ in range(2))
    made = torch.Generator().manual_seed(draw(st.integers(0, 99)))

    def data(*shape):
        gaps = draw(st.tuples(*[st.integers(0, 3)] * 4))
        return padded(torch.randn(*shape, generator=made).to(dtype), gaps)

    q = data(batch, groups * shared, length, size)
    k, v = data(batch, groups, keys, size), data(batch, groups, keys, value_size)
    mask = None
    kind = draw(st.sampled_from([None, torch.bool, torch.float32, torch.bfloat16]))
    if kind is not None:
        shape = [n if draw(st.booleans()) else 1 for n in (batch, groups * shared, length, keys)]
        seen = torch.rand(shape, generator=made) < draw(st.sampled_from([0.0, 0.1, 0.7, 1.0]))
        bias = torch.randn(shape, generator=made).to(kind)
        mask = seen if kind == torch.bool else bias.masked_fill(~seen, -torch.inf)
    setting = Setting(
        scale=draw(st.sampled_from([0.1, 1.0, -0.2])),
        left=draw(BOUNDS),
        right=draw(BOUNDS),
        empty_rows=draw(st.sampled_from(["zero", "nan"])),
        out=draw(st.sampled_from([torch.float32, dtype])),
    )
    return q, k, v, mask, setting, draw(st.integers(1, 9))


@settings(max_examples=60, deadline=None)
@given(problems())
def test_any_attention(problem):
    q, k, v, mask, setting, shares = problem
    for isa in variants(q.dtype):
        got = attend(q, k, v, mask, setting, isa=isa)
        assert_meets_contract(got, q, k, v, mask, setting, isa)
        again = attend(q, k, v, mask, setting, isa=isa, shares=shares)
        assert torch.equal(got.nan_to_num(9), again.nan_to_num(9))
