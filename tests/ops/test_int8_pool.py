"""Int8 pooling: values and type rule."""

import pytest
import torch
from exact_integers import requantized
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.int8_pool import Int8Pool

load_all()


@settings(max_examples=40)
@given(
    st.integers(0, 2**31), st.sampled_from(["mean", "max"]), st.integers(1, 2**15 - 1),
    st.integers(0, 24), st.booleans(),
)  # fmt: skip
def test_values(seed, kind, multiplier, shift, relu):
    x = torch.randint(-128, 128, (6, 3), generator=torch.Generator().manual_seed(seed))
    y = torch.ops.forge.int8_pool(
        x.to(torch.int8), kind=kind, multiplier=multiplier, shift=shift, relu=relu
    )
    reduce = sum if kind == "mean" else max
    lo = 0 if relu else -128
    assert y.tolist() == [
        max(requantized(reduce(c), multiplier, shift), lo) for c in zip(*x.tolist(), strict=True)
    ]


def test_the_axis_may_be_kept():
    x = torch.arange(24, dtype=torch.int8).view(2, 3, 4)
    flat = torch.ops.forge.int8_pool(x, kind="max", multiplier=1, shift=0)
    kept = torch.ops.forge.int8_pool(x, kind="max", multiplier=1, shift=0, keepdim=True)
    assert flat.tolist() == [[8, 9, 10, 11], [20, 21, 22, 23]]
    assert torch.equal(kept, flat[:, None])


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.int8_pool.default, (torch.zeros(5, 2, 8, dtype=torch.int8),),
        {"kind": "mean", "multiplier": 3, "shift": 1},
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("x", "kind", "message"),
    [
        (TensorType.of(DType.I8, (3,)), "max", "x must be i8 with 2 axes or more, is i8[3]"),
        (TensorType.of(DType.I8, (3, 2)), "sum", "kind is 'sum', expected one of mean, max"),
        (TensorType.of(DType.I8, (0, 2)), "max", "x is i8[0,2], expected 1 to 131071 rows"),
    ],
)
def test_type_rule_refuses(x, kind, message):
    with pytest.raises(VerificationError) as error:
        Int8Pool(kind=kind, multiplier=1, shift=0).infer(x)
    assert str(error.value) == message


def test_cost_counts_what_is_read_and_written():
    cost = Int8Pool(kind="max", multiplier=1, shift=0).cost(TensorType.of(DType.I8, (3, 4)))
    assert (cost.flops, cost.bytes_moved) == (20, 16)
