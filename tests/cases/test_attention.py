"""Masks, heads, positions and norms: fused where they are what they look like, else kept."""

import math

import pytest
import torch
import torch.nn.functional as F
from comparing import agrees
from torch import nn

NEVER = float("-inf")
attend = F.scaled_dot_product_attention


def rand(*shape, seed=0, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale


def qkv(heads=4, shared=None, length=7, keys=None, size=8, values=None):
    shared, keys, values = shared or heads, keys or length, values or size
    return (
        rand(2, heads, length, size),
        rand(2, shared, keys, size, seed=1),
        rand(2, shared, keys, values, seed=2),
    )


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


PADDING = torch.tensor([[1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 1]])


def masks(q, k, v, padding):
    lowest = torch.finfo(q.dtype).min
    shown = padding.bool()[:, None, None, :]
    past = torch.ones(7, 7, dtype=torch.bool).tril()
    s = q @ k.transpose(-1, -2) / math.sqrt(8)
    hidden = 1.0 - shown.float()
    return (
        s.masked_fill(~shown, lowest).softmax(-1) @ v,
        torch.where(shown & past, s, NEVER).softmax(-1) @ v,
        torch.where(shown & past, s, torch.tensor(lowest)).softmax(-1) @ v,
        (s + hidden * lowest).softmax(-1) @ v,
        (s * shown - 1e4 * hidden).softmax(-1) @ v,
        s.masked_fill(~past, -1e9).masked_fill(~shown, -1e9).softmax(-1) @ v,
        s.masked_fill(~shown, NEVER).softmax(-1).masked_fill(~shown, 0) @ v,
        torch.nan_to_num(s.masked_fill(~(shown & past), NEVER).softmax(-1)) @ v,
        attend(q, k, v, attn_mask=shown & past),
        attend(q, k, v, attn_mask=hidden * lowest),
        s.tril().softmax(-1) @ v,
        (s + torch.full((7, 7), -1e9).triu(1)).softmax(-1) @ v,
        attend(q, k, v, is_causal=True),
    )


def bands(q, k, v):
    i, j = torch.arange(7)[:, None], torch.arange(7)
    found = []
    for mask in (
        (j <= i) & (i - j < 3),
        (i - j).abs() < 3,
        (i // 3) == (j // 3),
        (j <= i) | (j < 4),
        j >= i,
        (j <= i) & ((i - j) % 2 == 0),
        j < i,
        torch.zeros(7, 7, dtype=torch.bool),
        j <= i + 2,
        (j <= i) & ((i - j < 3) | (j < 1)),
    ):
        found.append(attend(q, k, v, attn_mask=mask))
        found.append((q @ k.mT + torch.zeros(7, 7).masked_fill(~mask, -1e9)).softmax(-1) @ v)
        found.append((q @ k.mT).masked_fill(~mask, NEVER).softmax(-1) @ v)
    return found


def scales(q, k, v):
    s, t = q @ k.mT, torch.tensor([0.1, 0.2, 0.3, 0.4]).view(4, 1, 1)
    return (
        attend(q, k, v, scale=-0.2),
        (s * 0.0).softmax(-1) @ v,
        (s / torch.tensor(2.5)).softmax(-1) @ v,
        ((q / 7**0.25) @ (k / 7**0.25).mT).softmax(-1) @ v,
        (s * t).softmax(-1) @ v,
        (30 * torch.tanh(s / 30)).softmax(-1) @ v,
        (s * 0.3 + 1).softmax(-1) @ v,
        s.softmax(-2) @ v,
        s.softmax(1) @ v,
        F.softmin(s, -1) @ v,
        s.pow(2).softmax(-1) @ v,
        (s.softmax(-1) ** 2) @ v,
        s.softmax(-1) @ v * 0.5,
        torch.cat((s, s[..., :1]), -1).softmax(-1)[..., :-1] @ v,
    )


def repeated(q, k, v):
    def attention(spread):
        return (q @ spread(k).mT * 8**-0.5).softmax(-1) @ spread(v)

    expanded = (2, 2, 3, 7, 8)
    spreads = (
        lambda t: t.repeat_interleave(3, 1),
        lambda t: t[:, :, None].expand(expanded).reshape(2, 6, 7, 8),
        lambda t: t.repeat(1, 3, 1, 1),
        lambda t: torch.stack([t] * 3, 2).flatten(1, 2),
        lambda t: torch.cat([t, t, t], 1),
        lambda t: t[:, torch.tensor([0, 1, 0, 0, 1, 1])],
    )
    whole = attend(q, k, v, enable_gqa=True, is_causal=True)
    return whole, *map(attention, spreads), attend(q, spreads[0](k), spreads[2](v))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (masks, (*qkv(), PADDING)),
        (bands, qkv()),
        (scales, qkv(keys=11, values=13)),
        (scales, qkv(size=5)),
        (repeated, qkv(heads=6, shared=2)),
    ],
)
def test_attention(function, arguments, tmp_path):
    agrees(Function(function), arguments, tmp_path=tmp_path)


def turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def rotations(x):
    f = torch.arange(6.0)[:, None] / 100.0 ** (torch.arange(4) / 4)
    c, s = torch.cat((f, f), -1).cos(), torch.cat((f, f), -1).sin()
    a, b, even, odd = x[..., :4], x[..., 4:], x[..., ::2], x[..., 1::2]
    ch, sh = c[:, :4], s[:, :4]
    return (
        x * c + turned(x) * s,
        torch.cat((a * ch - b * sh, b * ch + a * sh), -1),
        torch.cat((a * ch + b * sh, b * ch - a * sh), -1),
        torch.stack((even * ch - odd * sh, even * sh + odd * ch), -1).flatten(-2),
        torch.cat((even * ch - odd * sh, even * sh + odd * ch), -1),
        x * c - turned(x) * s,
        x * s + turned(x) * c,
        x * c + turned(x) * c,
        x * c + torch.cat((b, a), -1) * s,
        x * c + torch.cat((-a, b), -1) * s,
        x * c + turned(x + 1) * s,
        (x * 2) * c + turned(x) * s,
        x * (c * 1.3) + turned(x) * (s * 1.3),
        x * c + torch.cat((-x[..., 5:], x[..., :5]), -1) * s,
        torch.cat((a * c[:, :4] + turned(a) * s[:, :4], b), -1),
        (x.double() * c.double() + turned(x.double()) * s.double()).float(),
    )


def norms(x):
    w, b = torch.linspace(0.5, 2, 8), torch.linspace(-1, 1, 8)
    mean, squares = x.mean(-1, keepdim=True), x.pow(2).mean(-1, keepdim=True)
    v = x.var(-1, unbiased=False, keepdim=True)
    return (
        (x - mean) / torch.sqrt(v + 1e-5) * w + b,
        (x - mean) / (torch.sqrt(v) + 1e-5) * w + b,
        (x - mean) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5),
        x / torch.sqrt(v + 1e-5) * w,
        (x - mean) / torch.sqrt(squares + 1e-5),
        x * torch.rsqrt(squares + 1e-6) * w,
        x * torch.rsqrt(squares + 1e-6) * (1 + w),
        x * torch.rsqrt(squares + 1e-6) + w,
        x / (squares.sqrt() + 1e-6) * w,
        x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6) * w,
        x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6),
        x * squares.add(1e-6).pow(-1.5),
        x * torch.rsqrt((x * (x + 1)).mean(-1, True) ** 2 + 1e-6),
        F.layer_norm(x, (8,), None, b),
        F.batch_norm(x.flatten(0, -2), b, w, w, b, False),
        (x.half().float() * torch.rsqrt(squares + 1e-6)).half() * w.half(),
    )


def activations(x):
    a, b = x.chunk(2, -1)
    c = math.sqrt(2 / math.pi)
    return (
        0.5 * x * (1 + torch.tanh(c * (x + 0.044715 * x**3))),
        0.5 * x * (1 + torch.tanh(c * (x + 0.04 * x**3))),
        0.5 * x * (1 + torch.tanh(c * (x + 0.044715 * x**2))),
        x * 0.5 * (1 + torch.erf(x / 2**0.5)),
        x * 0.5 * (1 + torch.erf(x / 2)),
        x * torch.sigmoid(1.7 * x),
        x * torch.sigmoid(-x),
        F.silu(a) * b,
        a * F.silu(b),
        F.silu(a + 1) * b,
        F.silu(a) * a,
        x[..., ::2].sigmoid() * x[..., 1::2],
        F.glu(x),
    )


@pytest.mark.parametrize("function", [rotations, norms, activations])
def test_chains(function, tmp_path):
    agrees(Function(function), (rand(2, 3, 6, 8, scale=2),), rtol=1e-3, tmp_path=tmp_path)
