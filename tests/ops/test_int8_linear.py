"""The int8 linear layer: values, range of its sums, type rule."""

import pytest
import torch
from exact_integers import dot, requantized
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.errors import QuantizationError, VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.int8_linear import Int8Linear

load_all()
X = TensorType.of(DType.I8, (4, 8))
W = TensorType.of(DType.I8, (16, 8))


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 2**15 - 1), st.integers(0, 24), st.booleans())
def test_values(seed, multiplier, shift, relu):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-128, 128, (2, 3, 5), generator=g, dtype=torch.int8)
    w = torch.randint(-128, 128, (4, 5), generator=g, dtype=torch.int8)
    b = torch.randint(-(2**20), 2**20, (4,), generator=g, dtype=torch.int32)
    y = torch.ops.forge.int8_linear(x, w, b, multiplier=multiplier, shift=shift, relu=relu)
    want = [
        [
            [
                max(requantized(dot(r, o) + c, multiplier, shift), 0 if relu else -128)
                for o, c in zip(w.tolist(), b.tolist(), strict=True)
            ]
            for r in rows
        ]
        for rows in x.tolist()
    ]
    assert y.tolist() == want


def test_without_a_bias_and_from_a_view():
    x = torch.randint(-128, 128, (8, 4), dtype=torch.int8).t()
    w = torch.randint(-128, 128, (16, 8), dtype=torch.int8)
    got = torch.ops.forge.int8_linear(x, w, multiplier=1, shift=8)
    want = torch.ops.forge.int8_linear(
        x.contiguous(), w, torch.zeros(16, dtype=torch.int32), multiplier=1, shift=8
    )
    assert torch.equal(got, want)
    assert got.is_contiguous()


def test_a_sum_beyond_32_bits_is_refused():
    x, w = torch.ones(1, 1, dtype=torch.int8), torch.ones(1, 1, dtype=torch.int8)
    b = torch.tensor([2**31 - 1], dtype=torch.int32)
    with pytest.raises(QuantizationError, match="scale overflow: a sum of int8_linear"):
        torch.ops.forge.int8_linear(x, w, b, multiplier=1, shift=0)


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    x, w = (torch.zeros(s, dtype=torch.int8) for s in ((5, 8), (3, 8)))
    torch.library.opcheck(
        torch.ops.forge.int8_linear.default, (x, w), {"multiplier": 3, "shift": 1},
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("x", "w", "b", "multiplier", "message"),
    [
        (X.with_dtype(DType.F32), W, None, 1, "x must be i8 with 1 axes or more, is f32[4,8]"),
        (X, X.with_dtype(DType.U8), None, 1, "w must be i8 with 2 axes or more, is u8[4,8]"),
        (X, TensorType.of(DType.I8, (16, 9)), None, 1, "w is i8[16,9], expected i8[out,8] for x "
         "i8[4,8]"),
        (X, W, TensorType.of(DType.I32, (8,)), 1, "b is i32[8], expected i32[16]"),
        (X, W, None, 0, "the factor is 0 / 2**3, expected 1 <= multiplier < 32768 and 0 <= shift "
         "<= 47"),
        (TensorType.of(DType.I8, (1, 131072)), TensorType.of(DType.I8, (1, 131072)), None, 1,
         "x has 131072 columns; sums of more than 131071 may overflow"),
    ],
)  # fmt: skip
def test_type_rule_refuses(x, w, b, multiplier, message):
    with pytest.raises(VerificationError) as error:
        Int8Linear(multiplier=multiplier, shift=3).infer(x, w, b)
    assert str(error.value) == message


def test_cost_counts_what_is_read_and_written():
    cost = Int8Linear(multiplier=1, shift=0).cost(X, W, TensorType.of(DType.I32, (16,)))
    assert (cost.flops, cost.bytes_moved) == (2 * 64 * 9, 32 + 128 + 64 + 64)
