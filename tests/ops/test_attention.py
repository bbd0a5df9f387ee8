"""The attention operator against explicit softmax in float64."""

import math

import pytest
import torch

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.attention import Attention, band, visible_pairs

INF = float("inf")


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def qkv(b=2, h=4, g=None, n_q=7, s=None, d=8, e=None, dtype=torch.float32):
    g, s, e = g or h, s or n_q, e or d
    return (draw(b, h, n_q, d, dtype=dtype), draw(b, g, s, d, seed=1, dtype=dtype),
            draw(b, g, s, e, seed=2, dtype=dtype))  # fmt: skip


def explicit(op, q, k, v, mask=None):
    """One query at a time, in float64, from the definition."""
    b, h, n_q, _ = q.shape
    g, s = k.shape[1:3]
    out = torch.zeros(b, h, n_q, v.shape[3], dtype=torch.float64)
    full = None if mask is None else mask.broadcast_to(b, h, n_q, s)
    for n in range(b):
        for head in range(h):
            kv = head // (h // g)
            for i in range(n_q):
                weights = {}
                for j in range(s):
                    hidden = (op.left is not None and j < i - op.left) or (
                        op.right is not None and j > i + op.right)  # fmt: skip
                    score = op.scale * float(q[n, head, i].double() @ k[n, kv, j].double())
                    if full is not None and full.dtype == torch.bool:
                        hidden = hidden or not bool(full[n, head, i, j])
                    elif full is not None:
                        score += float(full[n, head, i, j])
                    if not hidden and score != -INF:
                        weights[j] = score
                if not weights:
                    out[n, head, i] = 0.0 if op.empty_rows == "zero" else math.nan
                    continue
                top = max(weights.values())
                total = sum(math.exp(x - top) for x in weights.values())
                for j, score in weights.items():
                    out[n, head, i] += math.exp(score - top) / total * v[n, kv, j].double()
    return out


def check(op, q, k, v, mask=None):
    args = (q, k, v) if mask is None else (q, k, v, mask)
    got = Attention.overload()(*args, **op.attributes())
    want = explicit(op, q, k, v, mask)
    assert got.dtype == q.dtype
    # the weights sum to one, so the error is a few roundings of the largest value, and that of a
    # score, which the exponential turns into a relative error of its weight
    eps, wide = torch.finfo(q.dtype).eps, min(torch.finfo(q.dtype).eps, 2**-23)
    score = abs(op.scale) * float(q.norm(dim=-1).max() * k.norm(dim=-1).max())
    error = float(v.abs().max()) * (4 * eps + 2 * wide * score)
    torch.testing.assert_close(got.double(), want, rtol=4 * eps, atol=error, equal_nan=True)
    assert got.transpose(1, 2).is_contiguous()
    return got


BANDS = [(None, None), (None, 0), (0, 0), (2, 0), (None, 3), (1, 2), (0, None), (3, None),
         (None, -1),          (-2, None), (-1, 3)]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), BANDS)
@pytest.mark.parametrize(("n_q", "s"), [(7, 7), (3, 9), (9, 3), (1, 5)])
@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
def test_bands_and_lengths(left, right, n_q, s, empty_rows):
    op = Attention(scale=0.4, left=left, right=right, empty_rows=empty_rows)
    check(op, *qkv(b=1, h=2, n_q=n_q, s=s))


@pytest.mark.parametrize(("h", "g"), [(4, 4), (4, 2), (6, 2), (6, 1)])
@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
def test_grouped_queries_read_neighbouring_heads(h, g, empty_rows):
    mask = torch.ones(7, 7, dtype=torch.bool).tril()
    check(Attention(scale=0.3, empty_rows=empty_rows), *qkv(h=h, g=g), mask)
    check(Attention(scale=0.3, right=0), *qkv(h=h, g=g))


@pytest.mark.parametrize("size", [16, 20, 64, 80, 128, 256])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_head_sizes_and_types(size, dtype):
    check(Attention(scale=size**-0.5, right=0), *qkv(b=1, h=2, n_q=5, d=size, dtype=dtype))


def test_values_of_another_size():
    check(Attention(scale=0.3, right=0), *qkv(d=8, e=12))


@pytest.mark.parametrize("scale", [-0.7, 0.0, 1.0, 40.0])
@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
def test_scale_of_either_sign(scale, empty_rows):
    check(Attention(scale=scale, right=0, empty_rows=empty_rows), *qkv())
    check(Attention(scale=scale, empty_rows=empty_rows), *qkv(), draw(7, 7, seed=5))


MASK_SHAPES = [
    (7, 9),
    (2, 1, 1, 9),
    (2, 1, 7, 9),
    (1, 4, 7, 9),
    (4, 7, 9),
    (2, 4, 7, 9),
    (7, 1),
    (9,),
    (1, 4, 7, 1),
]


@pytest.mark.parametrize("shape", MASK_SHAPES)
@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
@pytest.mark.parametrize(("left", "right"), [(None, None), (4, 2)])
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.bfloat16, torch.float64])
def test_masks_broadcast(shape, empty_rows, left, right, dtype):
    mask = (
        draw(*shape, seed=3).to(dtype) if dtype.is_floating_point else draw(*shape, seed=3) > -0.8
    )
    op = Attention(scale=0.35, left=left, right=right, empty_rows=empty_rows)
    check(op, *qkv(n_q=7, s=9), mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
def test_rows_that_see_nothing(dtype, empty_rows):
    keep = torch.ones(2, 1, 7, 7, dtype=torch.bool)
    keep[0, :, :3], keep[1, :, 6, 1:] = False, False
    op = Attention(scale=0.35, empty_rows=empty_rows)
    got = check(op, *qkv(dtype=dtype), keep)
    empty = got[0, :, :3]
    assert bool((empty == 0).all()) if empty_rows == "zero" else bool(empty.isnan().all())
    check(op, *qkv(dtype=dtype), torch.zeros(2, 1, 7, 7).masked_fill(~keep, -INF))


@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
def test_lowest_number_in_a_whole_row_is_an_average_of_all_keys(empty_rows):
    q, k, v = qkv()
    low = torch.full((7, 7), torch.finfo(torch.float32).min)
    got = Attention.overload()(q, k, v, low, scale=0.3, empty_rows=empty_rows)
    torch.testing.assert_close(got, v.mean(2, keepdim=True).expand_as(got))


def test_band_joined_with_a_mask_can_empty_a_row():
    keep = torch.ones(1, 1, 1, 5, dtype=torch.bool)
    keep[..., 0] = False  # the first query sees key 0 only
    for empty_rows in ("zero", "nan"):
        op = Attention(scale=0.5, right=0, empty_rows=empty_rows)
        check(op, *qkv(b=1, n_q=5), keep)
        check(op, *qkv(b=1, n_q=5), torch.zeros(1, 1, 1, 5).masked_fill(~keep, -INF))


def test_single_precision_masks_keep_their_precision_beside_half_precision_queries():
    q, k, v = qkv(dtype=torch.bfloat16)
    mask = 100 + draw(7, 7, seed=4) * 0.1  # in bf16 all differences between these would vanish
    check(Attention(scale=0.3), q, k, v, mask)


def test_causal_attention_equals_pytorch_bit_by_bit_with_flag_and_with_mask():
    q, k, v = qkv(b=1, h=6, g=6, n_q=130, d=64)
    keep = torch.ones(130, 130, dtype=torch.bool).tril()
    got = Attention.overload()(q, k, v, scale=0.125, right=0)
    for options in ({"is_causal": True}, {"attn_mask": keep[None, None]}):
        want = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=0.125, **options)
        assert torch.equal(got, want)


def test_grouped_queries_equal_repeated_heads_bit_by_bit():
    q, k, v = qkv(b=1, h=6, g=2, n_q=33, d=16)
    wide = [x.repeat_interleave(3, 1) for x in (k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(q, *wide, is_causal=True)
    assert torch.equal(Attention.overload()(q, k, v, scale=0.25, right=0), want)


def test_strided_operands():
    x = draw(2, 5, 3 * 4 * 8).view(2, 5, 3, 4, 8)
    q, k, v = x.permute(2, 0, 3, 1, 4)
    check(Attention(scale=0.3, right=0), q, k.transpose(-1, -2).contiguous().transpose(-1, -2), v)
    check(Attention(scale=0.3), q, k[:1].expand(2, 4, 5, 8), v[:1].expand(2, 4, 5, 8))


def test_result_type_promises_the_layout_of_the_joined_heads():
    kinds = [TensorType.of(DType.BF16, s) for s in ((2, 4, 7, 8), (2, 2, 9, 8), (2, 2, 9, 6))]
    assert str(Attention(scale=1.0).infer(*kinds)) == "bf16[2,4,7,6]{168,6,24,1}"


def f32(*shape):
    return TensorType.of(DType.F32, shape)


Q, K = f32(2, 4, 7, 8), f32(2, 2, 9, 8)
REFUSALS = [
    ((f32(4, 7, 8), K, K), {}, "q must be [batch, heads, length, size], is f32[4,7,8]"),
    ((Q, K, TensorType.of(DType.BF16, K.shape)), {},
     "q, k and v must share a floating-point type: q is f32[2,4,7,8], v is bf16[2,2,9,8]"),
    ((Q, f32(1, 2, 9, 8), f32(1, 2, 9, 8)), {},
     "k is f32[1,2,9,8], which does not fit q, f32[2,4,7,8]"),
    ((Q, f32(2, 2, 9, 7), K), {}, "k is f32[2,2,9,7], which does not fit q, f32[2,4,7,8]"),
    ((Q, K, f32(2, 2, 8, 8)), {}, "v is f32[2,2,8,8], which does not fit k, f32[2,2,9,8]"),
    ((Q, f32(2, 3, 9, 8), f32(2, 3, 9, 8)), {},
     "4 query heads cannot be shared out among 3 key heads"),
    ((Q, K, K, f32(2, 1, 7, 8)), {},
     "mask is f32[2,1,7,8], which does not broadcast to [2, 4, 7, 9]"),
    ((Q, K, K, f32(1, 2, 4, 7, 9)), {},
     "mask is f32[1,2,4,7,9], which does not broadcast to [2, 4, 7, 9]"),
    ((Q, K, K, TensorType.of(DType.I64, (7, 9))), {},
     "mask must be bool or floating point, is i64[7,9]"),
    ((Q, K, K), {"empty_rows": "one"}, "empty_rows is 'one', expected 'zero' or 'nan'"),
]  # fmt: skip


@pytest.mark.parametrize(("kinds", "attributes", "message"), REFUSALS)
def test_type_rule_refuses(kinds, attributes, message):
    with pytest.raises(VerificationError) as caught:
        Attention(scale=1.0, **attributes).infer(*kinds)
    assert str(caught.value) == message


@pytest.mark.parametrize(("left", "right"), BANDS)
@pytest.mark.parametrize(("n_q", "s"), [(7, 7), (3, 9), (9, 3)])
def test_visible_pairs_counts_the_band(left, right, n_q, s):
    assert visible_pairs(n_q, s, left, right) == int(band(n_q, s, left, right).sum())


def test_cost_counts_visible_pairs_only():
    kinds = (f32(2, 4, 8, 16), f32(2, 2, 8, 16), f32(2, 2, 8, 16))
    full, causal = Attention(scale=1.0).cost(*kinds), Attention(scale=1.0, right=0).cost(*kinds)
    assert full.flops == 4 * 2 * 4 * 8 * 8 * 16
    assert causal.flops == full.flops * 36 // 64
    assert full.bytes_moved == causal.bytes_moved == 4 * (2 * 2 * 4 * 8 * 16 + 2 * 2 * 2 * 8 * 16)
    masked = Attention(scale=1.0).cost(*kinds, TensorType.of(DType.BOOL, (2, 1, 1, 8)))
    assert masked.bytes_moved == full.bytes_moved + 16
