"""Every spelling of the decomposed chain becomes the same operator."""

import math

import pytest
import torch
import torch.nn.functional as F
from attention_support import (
    B,
    Call,
    D,
    H,
    L,
    Outcome,
    S,
    attend,
    draw,
    fuse,
    qkv,
)  # fmt: skip

from forge_ugc.passes.graph import constant_of

CHAINS = {
    "times": lambda q, k, v: (q @ k.mT * S).softmax(-1) @ v,
    "over": lambda q, k, v: (q @ k.transpose(2, 3) / math.sqrt(D)).softmax(-1) @ v,
    "tensor scale": lambda q, k, v: (q @ k.mT / torch.tensor(D).sqrt()).softmax(-1) @ v,
    "query first": lambda q, k, v: F.softmax((q * S) @ k.permute(0, 1, 3, 2), dim=3) @ v,
    "key first": lambda q, k, v: (q @ (k * S).mT).softmax(-1) @ v,
    "key after": lambda q, k, v: (q @ (k.mT * S)).softmax(-1) @ v,
    "both": lambda q, k, v: ((q * S**0.5) @ (k.mT * S**0.5)).softmax(-1) @ v,
    "twice negative": lambda q, k, v: (-(q @ -k.mT) * S).softmax(-1) @ v,
    "in two steps": lambda q, k, v: (q @ k.mT / 2 * (2 * S)).softmax(-1) @ v,
    "copies": lambda q, k, v: (q @ k.mT.contiguous() * S).softmax(-1).contiguous() @ v.clone(),
    "dropout off": lambda q, k, v: F.dropout((q @ k.mT * S).softmax(-1), 0.3, False) @ v,
    "fp32 softmax": lambda q, k, v: (q @ k.mT * S).softmax(-1, dtype=torch.float32).to(q.dtype) @ v,
    "shifted": lambda q, k, v: (q @ k.mT * S + 3.0).softmax(-1) @ v,
    "bmm": lambda q, k, v: torch.bmm(
        (torch.bmm(q.reshape(-1, L, D), k.reshape(-1, L, D).mT) * S).softmax(-1),
        v.reshape(-1, L, D),
    ).view(B, H, L, D),
    "baddbmm": lambda q, k, v: torch.bmm(
        torch.baddbmm(
            torch.zeros(1, 1, 1), q.reshape(-1, L, D), k.reshape(-1, L, D).mT, beta=0, alpha=S
        ).softmax(-1),
        v.reshape(-1, L, D),
    ).view(B, H, L, D),
}


@pytest.mark.parametrize("name", CHAINS)
def test_every_spelling_becomes_the_same_operator(name):
    out = fuse(CHAINS[name], *qkv())
    assert out.calls == ["attention"]
    settings = out.settings()
    assert settings.pop("scale") == pytest.approx(S, rel=1e-7)
    assert settings == {"left": None, "right": None}
    assert [a.name for a in out.attention().args] == [n.name for n in out.nodes()[:3]]


def test_einsum():
    def run(q, k, v):  # [batch, length, heads, size]
        weights = (torch.einsum("bihd,bjhd->bhij", q, k) * S).softmax(-1)
        return torch.einsum("bhij,bjhd->bihd", weights, v)

    q, k, v = (x.transpose(1, 2).contiguous() for x in qkv())
    out = fuse(run, q, k, v, rounds=2)
    assert out.calls == [*["permute.default"] * 3, "attention", "permute.default"]
    assert out.settings()["scale"] == S
    swapped = fuse(lambda q, k, v: torch.einsum("bjhd,bihd->bhij", k, q).softmax(-1), q, k, v)
    assert "matmul.default" in swapped.calls
    for equation, args in [
        ("bihd,bjhd->bhj", (q, k)), ("bihd,bjhd->bihj", (q[:1], k)), ("bihd->bhid", (q,)),
        ("bihd,bihd->bihd", (q, k)), ("...d,...d->...", (q, k)),
    ]:  # fmt: skip
        other = fuse(lambda *x, e=equation: torch.einsum(e, *x), *args)
        assert "matmul.default" not in other.calls


def test_transposed_keys_from_outside_are_turned_back_by_a_view():
    q, k, v = qkv()
    out = fuse(lambda q, t, v: (q @ t).softmax(-1) @ v, q, k.mT.contiguous(), v)
    assert out.calls == ["transpose.int", "attention"]


def test_keys_transposed_together_with_their_heads():
    def run(q, k, v):  # k: [batch, length, heads, size]
        return (q @ k.permute(0, 2, 3, 1)).softmax(-1) @ v

    q, k, v = qkv()
    out = fuse(run, q, k.transpose(1, 2).contiguous(), v)
    assert out.calls == ["permute.default", "attention"]
    assert out.shapes()[1] == [B, H, L, D]


@pytest.mark.parametrize("scale", [-20.0, -0.05, 1e4, 0.0])
def test_unusual_scales(scale):
    x = draw(2, 5, 16)
    out = fuse(lambda x: (x @ x.transpose(-1, -2) * scale).softmax(-1) @ x, x)
    assert out.settings()["scale"] == scale


def test_scale_after_the_mask_scales_the_mask():
    bias = draw(L, L, seed=9)
    out = fuse(lambda q, k, v, m: ((q @ k.mT + m) * 0.5).softmax(-1) @ v, *qkv(), bias)
    assert out.calls == ["mul.Tensor", "attention"]
    out = fuse(lambda q, k, v, m: ((q @ k.mT - m) / -2).softmax(-1) @ v, *qkv(), constants=(bias,))
    assert torch.equal(constant_of(out.attention().args[3]), bias * 0.5)
    assert out.settings()["scale"] == -0.5
    out = fuse(lambda q, k, v, m: (m - q @ k.mT).softmax(-1) @ v, *qkv(), bias)
    assert out.settings()["scale"] == -1.0


def test_scale_per_head_goes_to_the_queries():
    scale = torch.rand(H, 1, 1) - 0.5
    out = fuse(lambda q, k, v, s, m: (q @ k.mT * s + m).softmax(-1) @ v, *qkv(), scale, draw(L, L))
    assert out.calls == ["mul.Tensor", "attention"]
    out = fuse(
        lambda q, k, v, s, m: ((q @ k.mT + m) * s).softmax(-1) @ v, *qkv(), scale, draw(L, L)
    )
    assert len(out.missed) == 1
    assert out.missed[0].endswith("multiplied by args_3 after a mask")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_with_and_without_upcasts(dtype):
    def upcast(q, k, v):
        return (q.float() @ k.float().mT * S).softmax(-1).to(v.dtype) @ v

    for run in (upcast, CHAINS["times"], CHAINS["fp32 softmax"]):
        out = Outcome(Call(run), qkv(dtype=dtype))
        assert out.calls == ["attention"]
        eps = torch.finfo(dtype).eps
        torch.testing.assert_close(out.got[0], out.want[0], rtol=4 * eps, atol=4 * eps)


def test_result_of_another_layout_still_feeds_views():
    def run(q, k, v):
        out = attend(q, k, v)
        return out.view(B, H * L, D), out.transpose(1, 2).reshape(B, L, H * D), out.view(-1)

    out = fuse(run, *qkv())
    assert "view.default" not in out.calls
    for node in out.nodes():
        if node.op == "call_function" and node.meta["type"].rank == 3:
            assert node.meta["type"].is_contiguous


def test_masks_of_rank_three_are_regrouped():
    def run(q, k, v, m):
        q, k, v = (x.reshape(-1, L, D) for x in (q, k, v))
        scores = torch.baddbmm(m, q, k.mT, beta=0.5, alpha=S)
        return torch.bmm(scores.softmax(-1), v).view(B, H, L, D)

    out = fuse(run, *qkv(), draw(B * H, 1, L))
    assert out.calls == ["reshape.default", "mul.Tensor", "attention"]
    assert out.shapes()[3] == [B, H, 1, L]

    def regrouped(q, k, v, m):
        q, k, v = (x.reshape(-1, L, D) for x in (q, k, v))
        scores = (q @ k.mT).view(B, H, L, L) + m
        return (scores.view(-1, L, L).softmax(-1) @ v).view(B, H, L, D)

    out = fuse(regrouped, *qkv(), draw(B, 1, 1, L))
    assert out.calls == ["attention"]


def test_single_head_of_rank_three():
    q, k, v = (draw(3, n, D, seed=n) for n in (5, 6, 6))
    out = fuse(attend, q, k, v, draw(3, 5, 6))
    assert out.shapes() == [[3, 1, 5, D], [3, 1, 6, D], [3, 1, 6, D], [3, 1, 5, 6]]
