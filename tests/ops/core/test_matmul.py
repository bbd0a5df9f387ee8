"""Products of mixed types: bf16 and int8 operands, f32 sums, one rounding."""

import pytest
import torch
import torch.nn.functional as F

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.linear import Linear
from forge_ugc.ops.merged_linear import MergedLinear

load_all()


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def kind(dtype, *shape):
    return TensorType.of(DType(dtype), shape)


X, W, B, R = rand(2, 5, 16), rand(24, 16, seed=1), rand(24, seed=2), rand(2, 5, 24, seed=3)


def quantized(t):
    return torch.ops.forge.quantize_rows(t)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("of_bias", [torch.float32, torch.bfloat16])
def test_bf16_operands_are_summed_in_f32_and_rounded_once(dtype, of_bias):
    x, w, b = X.bfloat16(), W.bfloat16(), B.to(of_bias)
    got = torch.ops.forge.linear(x, w, b, R, activation="silu", scale=0.25, dtype=dtype)
    want = R + F.silu(F.linear(x.float(), w.float(), b.float())) * 0.25
    assert torch.equal(got, want if dtype == "f32" else want.bfloat16())


def test_products_of_int8_are_exact_before_they_are_scaled():
    (x, x_scale), (w, w_scale) = quantized(X), quantized(W)
    got = torch.ops.forge.linear(x, w, B, R, x_scale, w_scale, dtype="f32")
    sums = torch.einsum("blk,nk->bln", x.long(), w.long()).float()
    assert torch.equal(got, R + (sums * x_scale[..., None] * w_scale + B))


def test_merged_and_gated_products_are_those_of_the_single_ones():
    (x, s), (w, ws) = quantized(X), quantized(W)
    one = torch.ops.forge.linear(x, w, B, None, s, ws, dtype="bf16")
    many = torch.ops.forge.merged_linear(x, [w, w[:8]], [B, None], s, [ws, ws[:8]], dtype="bf16")
    assert torch.equal(many[0], one)
    assert many[1].shape == (2, 5, 8)
    gated = torch.ops.forge.gated_linear(x, w, w, B, None, s, ws, ws, dtype="f32")
    gate, up = (torch.ops.forge.linear(x, w, b, None, s, ws, dtype="f32") for b in (B, None))
    assert torch.equal(gated, F.silu(gate) * up)


def test_schemas_and_meta_kernels_agree_with_the_cpu_kernels():
    (x, s), (w, ws) = quantized(X), quantized(W)
    calls = {
        torch.ops.forge.linear.default: (x, w, B, R, s, ws),
        torch.ops.forge.gated_linear.default: (x, w, w, None, B, s, ws, ws),
        torch.ops.forge.merged_linear.default: (x, [w, w], [None, B], s, [ws, ws]),
    }
    for target, args in calls.items():
        torch.library.opcheck(
            target, args, {"dtype": "bf16"}, test_utils=("test_schema", "test_faketensor")
        )


@pytest.mark.parametrize(
    ("types", "dtype", "why"),
    [
        ((kind("i8", 2, 3), kind("i8", 4, 3)), "f32",
         "x must be floating point with a last axis, is i8[2,3]"),
        ((kind("f32", 2, 3), kind("f32", 4, 3), None, None, kind("f32", 2), kind("f32", 4)), "f32",
         "x must be i8 with a last axis, is f32[2,3]"),
        ((kind("i8", 2, 3), kind("i8", 4, 3), None, None, kind("f32", 3), kind("f32", 4)), "f32",
         "the scale of x is f32[3], expected f32[2]"),
        ((kind("i8", 2, 3), kind("i8", 4, 3), None, None, kind("f32", 2)), "f32",
         "the scale of w is None, expected f32[4]"),
        ((kind("i8", 2, 3), kind("i8", 4, 3), None, None, kind("f32", 2), kind("f32", 4)), None,
         "a product of i8 needs the dtype of its result"),
        ((kind("bf16", 2, 3), kind("bf16", 4, 3), kind("f32", 4)), None,
         "bias is f32[4], expected dtype bf16 of x"),
        ((kind("bf16", 2, 3), kind("bf16", 4, 3), kind("f64", 4)), "f32",
         "bias is f64[4], expected dtype f32 or bf16"),
        ((kind("f64", 2, 3), kind("f64", 4, 3)), "f32",
         "dtype = 'f32' goes with operands of f32, bf16 or i8, not f64"),
        ((kind("bf16", 2, 3), kind("bf16", 4, 3)), "f16",
         "dtype is 'f16', expected one of f32, bf16"),
    ],
)  # fmt: skip
def test_type_rule_refuses(types, dtype, why):
    with pytest.raises(VerificationError) as error:
        Linear(dtype=dtype).infer(*types)
    assert str(error.value) == why


def test_cost_counts_scales_and_the_types_that_are_moved():
    types = (kind("i8", 2, 3), kind("i8", 4, 3), None, None, kind("f32", 2), kind("f32", 4))
    cost = Linear(dtype="bf16").cost(*types)
    assert (cost.flops, cost.bytes_moved) == (2 * 2 * 12, 6 + 12 + 2 * 8 + 4 * 6)
    x, w = types[:2]
    merged = MergedLinear(dtype="bf16").cost(x, [w, w], [None, None], types[4], [types[5]] * 2)
    assert (merged.flops, merged.bytes_moved) == (2 * cost.flops, 6 + 2 * (12 + 16) + 4 * (2 + 8))
