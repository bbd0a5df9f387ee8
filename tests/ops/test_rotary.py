"""Rotary embedding against the chains that models write."""

import pytest
import torch

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.rotary import Rotary


def f32(*shape):
    return TensorType.of(DType.F32, shape)


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def angles(length, width, dtype=torch.float32):
    f = torch.arange(length).float()[:, None] / 100.0 ** (torch.arange(width).float() / width)
    return f.cos().to(dtype), f.sin().to(dtype)


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def rotate_pairs(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_halves(dtype):
    q, (c, s) = rand(2, 3, 5, 8, dtype=dtype), angles(5, 8, dtype)
    got = torch.ops.forge.rotary(q, c, s)
    assert torch.equal(got, q * c + rotate_half(q) * s)


def test_the_result_keeps_the_memory_order_of_a_transposed_input():
    q, (c, s) = rand(2, 5, 3, 8).transpose(1, 2), angles(5, 8)
    got, want = torch.ops.forge.rotary(q, c, s), q * c + rotate_half(q) * s
    assert torch.equal(got, want)
    assert got.stride() == want.stride() == q.stride()


def test_the_result_of_a_slice_is_packed():
    q, (c, s) = rand(2, 5, 9, 8).transpose(1, 2)[:, 2:5], angles(5, 8)
    got, want = torch.ops.forge.rotary(q, c, s), q * c + rotate_half(q) * s
    assert torch.equal(got, want)
    assert got.stride() == want.stride()


def test_pairs_with_distinct_values_for_both_elements():
    q, c, s = rand(2, 3, 5, 8), rand(5, 8, seed=1), rand(5, 8, seed=2)
    got = torch.ops.forge.rotary(q, c, s, interleaved=True)
    assert torch.equal(got, q * c + rotate_pairs(q) * s)


def test_one_angle_per_pair_of_halves():
    q, (c, s) = rand(2, 3, 5, 8), angles(5, 4)
    a, b = q.chunk(2, -1)
    want = torch.cat((a * c - b * s, b * c + a * s), -1)
    assert torch.equal(torch.ops.forge.rotary(q, c, s), want)
    full = torch.ops.forge.rotary(q, torch.cat((c, c), -1), torch.cat((s, s), -1))
    assert torch.equal(full, want)


def test_one_angle_per_interleaved_pair():
    q, (c, s) = rand(2, 3, 5, 8), angles(5, 4)
    a, b = q[..., ::2], q[..., 1::2]
    want = torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)
    assert torch.equal(torch.ops.forge.rotary(q, c, s, interleaved=True), want)


@pytest.mark.parametrize("interleaved", [False, True])
def test_partial_passes_the_rest_through(interleaved):
    q, (c, s) = rand(2, 3, 5, 16), angles(5, 6)
    r, keep = q[..., :6], q[..., 6:]
    turned = rotate_pairs(r) if interleaved else rotate_half(r)
    got = torch.ops.forge.rotary(q, c, s, rotary_dim=6, interleaved=interleaved)
    assert torch.equal(got, torch.cat((r * c + turned * s, keep), -1))
    assert torch.equal(got[..., 6:], keep)


def test_dtype_is_the_promotion_and_the_rest_follows():
    q, (c, s) = rand(2, 3, 5, 8, dtype=torch.bfloat16), angles(5, 4)
    got = torch.ops.forge.rotary(q, c, s, rotary_dim=4)
    r, keep = q[..., :4], q[..., 4:]
    want = torch.cat((r * c + rotate_half(r) * s, keep), -1)
    assert got.dtype == want.dtype == torch.float32
    assert torch.equal(got, want)


def test_cos_may_be_per_batch_and_shared_by_heads():
    q, c, s = rand(2, 3, 5, 8), rand(2, 1, 5, 8, seed=1), rand(2, 1, 5, 8, seed=2)
    assert torch.equal(torch.ops.forge.rotary(q, c, s), q * c + rotate_half(q) * s)


@pytest.mark.parametrize("rotary_dim", [None, 4])
@pytest.mark.parametrize("width", [1, 2])
def test_schema_and_meta_kernel_agree_with_the_cpu_kernel(rotary_dim, width):
    q = rand(2, 5, 3, 8).transpose(1, 2)
    c, s = angles(5, (rotary_dim or 8) // width)
    torch.library.opcheck(
        torch.ops.forge.rotary.default, (q, c, s), {"rotary_dim": rotary_dim},
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("attributes", "types", "why"),
    [
        ({}, (f32(), f32(1), f32(1)), "x must have a last axis, is f32[]"),
        ({}, (f32(7), f32(7), f32(7)), "7 elements of x f32[7] cannot be turned in pairs"),
        (
            {"rotary_dim": 10},
            (f32(5, 8), f32(5, 10), f32(5, 10)),
            "10 elements of x f32[5,8] cannot be turned in pairs",
        ),
        ({}, (f32(5, 8), f32(5, 8), f32(1, 8)), "cos is f32[5,8], sin is f32[1,8]"),
        ({}, (f32(5, 8), f32(5, 1), f32(5, 1)), "cos is f32[5,1], expected a last axis of 8 or 4"),
        (
            {},
            (f32(8), f32(1, 8), f32(1, 8)),
            "cos is f32[1,8], which does not broadcast to x f32[8]",
        ),
        ({}, (f32(1, 8), f32(5, 8), f32(5, 8)),
         "cos is f32[5,8], which does not broadcast to x f32[1,8]"),
        (
            {},
            (f32(5, 8), TensorType.of(DType.I64, (5, 8)), TensorType.of(DType.I64, (5, 8))),
            "x, cos and sin must be floating point, one is i64[5,8]",
        ),
    ],
)  # fmt: skip
def test_type_rule_refuses(attributes, types, why):
    with pytest.raises(VerificationError) as error:
        Rotary(**attributes).infer(*types)
    assert str(error.value) == why


def test_cost_counts_the_turned_part():
    cost = Rotary(rotary_dim=4).cost(f32(3, 5, 8), f32(5, 4), f32(5, 4))
    assert cost.flops == 3 * 15 * 4
    assert cost.bytes_moved == 4 * (2 * 120 + 2 * 20)


@pytest.mark.parametrize("of_x", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("interleaved", [False, True])
def test_a_result_of_another_type_is_computed_in_f32_and_rounded_once(of_x, interleaved):
    x = torch.randn(1, 2, 5, 8).to(of_x)
    cos, sin = torch.randn(5, 8), torch.randn(5, 8)
    wide = torch.ops.forge.rotary(x.float(), cos, sin, interleaved=interleaved)
    got = torch.ops.forge.rotary(x, cos, sin, interleaved=interleaved, dtype="bf16")
    assert torch.equal(got, wide.bfloat16())
