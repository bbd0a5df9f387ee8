"""Masks become bands where that is exact, and stay operands where it is not."""

import pytest
import torch
from attention_support import (
    CAUSAL,
    HIDDEN,
    INF,
    LOW,
    B,
    H,
    L,
    S,
    attend,
    draw,
    fuse,
    qkv,
    sdpa,
)  # fmt: skip

from forge_ugc.passes.graph import constant_of
from forge_ugc.passes.text import operator_of

WINDOW = torch.ones(L, L, dtype=torch.bool).tril().triu(-2)
AROUND = torch.ones(L, L, dtype=torch.bool).tril(2).triu(-2)
BANDS = [
    (torch.ones(L, L, dtype=torch.bool), None, None, "none"),
    (CAUSAL, None, 0, "causal"),
    (CAUSAL.expand(B, 1, L, L), None, 0, "causal"),
    (WINDOW, 2, 0, "window of 3"),
    (AROUND, 2, 2, "window -2..2"),
    (torch.ones(L, L, dtype=torch.bool).tril(2), None, 2, "causal offset 2"),
]
SPELLINGS = {
    "sdpa bool": lambda q, k, v, m: sdpa(q, k, v, attn_mask=m),
    "sdpa -inf": lambda q, k, v, m: sdpa(q, k, v, attn_mask=torch.where(m, 0.0, -INF)),
    "sdpa lowest": lambda q, k, v, m: sdpa(q, k, v, attn_mask=torch.where(m, 0.0, LOW)),
    "added -inf": lambda q, k, v, m: attend(q, k, v, torch.where(m, 0.0, -INF)),
    "added lowest": lambda q, k, v, m: attend(q, k, v, (1 - m.float()) * LOW),
    "where": lambda q, k, v, m: torch.where(m, q @ k.mT, -INF).softmax(-1) @ v,
    "where full": lambda q, k, v, m: torch.where(
        m, q @ k.mT, torch.full([], LOW)).softmax(-1) @ v,
    "masked_fill": lambda q, k, v, m: (q @ k.mT).masked_fill(~m, -INF).softmax(-1) @ v,
    "masked_fill -1e9": lambda q, k, v, m: (q @ k.mT).masked_fill(m == 0, -1e9).softmax(-1) @ v,
    "where swapped": lambda q, k, v, m: torch.where(~m, -INF, q @ k.mT).softmax(-1) @ v,
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize(("mask", "left", "right", "text"), BANDS)
def test_constant_masks_become_bands(name, mask, left, right, text):
    out = fuse(SPELLINGS[name], *qkv(), constants=(mask,))
    assert out.calls == ["attention"]
    settings = out.settings()
    assert (settings["left"], settings["right"]) == (left, right)
    assert out.note() == f"mask: {text}"
    assert out.attention().kwargs["empty_rows"] == "zero"  # no row is empty: one form for all


@pytest.mark.parametrize("name", SPELLINGS)
def test_other_constant_masks_stay_bool_where_that_is_exact(name):
    mask = CAUSAL.clone()
    mask[5, 1] = False
    out = fuse(SPELLINGS[name], *qkv(), constants=(mask,))
    assert out.calls == ["attention"]
    assert torch.equal(constant_of(out.attention().args[3]), mask)


def test_rows_without_a_key():
    mask = CAUSAL.clone()
    mask[2] = False
    zero = fuse(SPELLINGS["sdpa bool"], *qkv(), constants=(mask,), exact=True)
    nan = fuse(SPELLINGS["added -inf"], *qkv(), constants=(mask,))
    assert [o.attention().kwargs["empty_rows"] for o in (zero, nan)] == ["zero", "nan"]
    assert bool((zero.got[0][:, :, 2] == 0).all())
    assert bool(nan.got[0][:, :, 2].isnan().all())
    for name in ("sdpa lowest", "added lowest", "where full", "masked_fill -1e9"):
        out = fuse(SPELLINGS[name], *qkv(), constants=(mask,))  # an average over all keys
        assert out.note() == "mask: additive"
        assert torch.allclose(out.got[0][:, :, 2], out.module(*qkv())[0][:, :, 2])


def test_a_band_of_which_some_rows_are_empty():
    ahead = torch.ones(L, L, dtype=torch.bool).triu(1)
    out = fuse(SPELLINGS["added -inf"], *qkv(), constants=(ahead,))
    assert out.settings() == {"scale": S, "left": -1, "right": None}
    assert out.attention().kwargs["empty_rows"] == "nan"
    out = fuse(SPELLINGS["sdpa bool"], *qkv(), constants=(ahead,))
    assert out.attention().kwargs["empty_rows"] == "zero"


def test_dynamic_padding_joined_with_a_constant_band():
    padding = torch.ones(B, 1, 1, L, dtype=torch.bool)
    padding[1, ..., :2] = False  # the first rows of batch 1 see nothing
    out = fuse(
        lambda q, k, v, p, m: sdpa(q, k, v, attn_mask=m & p), *qkv(), padding, constants=(CAUSAL,),
        exact=True,
    )  # fmt: skip
    assert out.calls == ["attention"]
    assert out.note() == "mask: causal + key padding"
    assert out.shapes()[3] == [B, 1, 1, L]

    def filled(q, k, v, p, m):
        return (q @ k.mT * S).masked_fill(~m | ~p, -INF).softmax(-1) @ v

    out = fuse(filled, *qkv(), padding, constants=(CAUSAL,))
    assert out.note() == "mask: causal + key padding"
    assert out.attention().kwargs["empty_rows"] == "nan"
    assert out.got[0].isnan().any()


def test_padding_added_as_minus_infinity():
    padding = torch.ones(B, 1, 1, L, dtype=torch.bool)
    padding[1, ..., :2] = False
    out = fuse(
        lambda q, k, v, p, m: attend(q, k, v, torch.where(p, 0.0, -INF) + m), *qkv(), padding,
        constants=(HIDDEN,),
    )  # fmt: skip
    assert out.note() == "mask: causal + key padding"
    assert out.calls == ["attention"]


def test_padding_added_as_the_lowest_number_stays_added():
    padding = torch.ones(B, 1, 1, L, dtype=torch.bool)
    padding[1, ..., :2] = False
    for band in (CAUSAL, torch.ones_like(CAUSAL)):
        low = torch.zeros(L, L).masked_fill(~band, LOW)
        out = fuse(
            lambda q, k, v, p, m: attend(q, k, v, (1 - p.float()) * LOW + m), *qkv(), padding,
            constants=(low,),
        )  # fmt: skip
        assert out.note() == "mask: additive"
    both = lambda q, k, v, p, m: attend(q, k, v, torch.where(m & p, 0.0, LOW))  # noqa: E731
    assert fuse(both, *qkv(), padding, constants=(CAUSAL,)).note() == "mask: additive"


def test_bias_with_a_band_inside():
    bias = draw(1, H, L, L) + HIDDEN
    out = fuse(lambda q, k, v, m: attend(q, k, v, m), *qkv(), constants=(bias,))
    assert out.note() == "mask: causal + additive"
    assert torch.isfinite(constant_of(out.attention().args[3])).all()
    out = fuse(
        lambda q, k, v, b, m: attend(q, k, v, b + m), *qkv(), draw(1, H, L, L), constants=(HIDDEN,)
    )
    assert out.note() == "mask: causal + additive"
    assert out.calls == ["attention"]


def test_bias_then_a_finite_fill_with_a_dynamic_mask():
    keep = draw(B, 1, L, L, seed=5) > -0.5
    keep[1, :, 3] = False
    out = fuse(
        lambda q, k, v, b, m: (q @ k.mT + b).masked_fill(~m, LOW).softmax(-1) @ v,
        *qkv(), draw(1, H, L, L), keep,
    )  # fmt: skip
    assert out.calls == ["where.ScalarOther", "attention"] or out.calls == [
        "bitwise_not.default", "where.ScalarSelf", "attention"]  # fmt: skip
    out = fuse(
        lambda q, k, v, b, m: torch.where(m, q @ k.mT, LOW).add(b).softmax(-1) @ v,
        *qkv(), draw(1, H, L, L), keep,
    )  # fmt: skip
    assert out.note() == "mask: additive"


def test_masks_of_several_layers_are_built_once():
    padding = torch.ones(B, 1, 1, L, dtype=torch.bool)

    def run(q, k, v, p, m, low):
        mask = m & p
        x = sdpa(q, k, v, attn_mask=mask)
        y = attend(x, k, v, low)
        return sdpa(y, k, attend(y, k, v, low), attn_mask=mask)

    odd = HIDDEN.clone()
    odd[3, 0] = -INF
    out = fuse(run, *qkv(), padding, constants=(CAUSAL, odd))
    assert out.calls == ["attention"] * 4
    masks = [n.args[3] for n in out.nodes() if operator_of(n) == "attention"]
    assert len(set(masks)) == 2


def windowed(q, k, v, m):  # [windows*b, heads, ...] with one mask per window, as in Swin
    scores = q @ k.mT
    wide = scores.view(-1, 2, H, L, L) + m
    return wide.view(-1, H, L, L).softmax(-1) @ v


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("shape", [(2, 1, L, L), (1, 2, 1, L, L), (2, H, 1, L), (1, 1, H, L, L)])
def test_masks_of_windows(shape, constant):
    mask = draw(*shape, seed=8)
    args = qkv(b=6)
    out = fuse(windowed, *args, constants=(mask,)) if constant else fuse(windowed, *args, mask)
    windows = 1 if len(shape) == 5 and shape[1] == 1 else 6
    assert out.shapes()[3] == [windows, *shape[-3:]]
    assert out.note() == "mask: additive"


def test_scores_regrouped_across_heads_are_left_alone():
    def run(q, k, v, m):
        scores = (q @ k.mT).view(B * 2, 2, L, L) + m
        return scores.view(B, H, L, L).softmax(-1) @ v

    def weights(q, k, v):
        return (q @ k.mT).softmax(-1).view(H, 1, L, L) @ v

    reason = "the scores f32[2,4,7,7] are regrouped on their way to f32[2,4,7,8]"
    out = fuse(run, *qkv(), draw(B * 2, 1, 1, L), exact=True)
    assert out.missed == [f"softmax-attention: {reason}"]
    q, k, _ = qkv(b=1)
    out = fuse(weights, q, k, draw(H, H, L, 8), exact=True)
    assert "attention" not in out.calls
