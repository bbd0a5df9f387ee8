"""Attention in many spellings, and what the fusion made of it."""

import math

import torch
import torch.nn.functional as F
from graph_checks import TypeChecker
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.options import Options
from forge_ugc.passes.base import build
from forge_ugc.passes.text import operator_of

INF = math.inf
LOW = torch.finfo(torch.float32).min
B, H, L, D = 2, 4, 7, 8
S = D**-0.5


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def qkv(b=B, h=H, g=None, n=L, s=None, d=D, dtype=torch.float32):
    g, s = g or h, s or n
    return (draw(b, h, n, d, dtype=dtype), draw(b, g, s, d, seed=1, dtype=dtype),
            draw(b, g, s, d, seed=2, dtype=dtype))  # fmt: skip


class Call(nn.Module):
    """A function as a module, with constants as buffers."""

    def __init__(self, function, constants=()):
        super().__init__()
        self.function = function
        for i, value in enumerate(constants):
            self.register_buffer(f"c{i}", value)
        self.count = len(constants)

    def forward(self, *args):
        return self.function(*args, *(getattr(self, f"c{i}") for i in range(self.count)))


class Outcome:
    """A graph after the pass, the pass's own account of it, and what eager computed."""

    def __init__(self, module, args, rounds=1):
        module.eval()
        self.module = capture(module, args).graph_module
        for name in ("dead-code", "fold-constants", "common-subexpressions"):
            build([name])[0].run(self.module, Options())
        for _ in range(rounds):
            result = build(["fuse-attention"])[0].run(self.module, Options())
        self.module.graph.lint()
        self.module.recompile()
        self.fired = [f.what for f in result.details if f.rule != "einsum-to-matmul"]
        self.missed = [f"{m.rule}: {m.reason}" for m in result.near_misses]
        with torch.no_grad():
            want, got = module(*args), TypeChecker(self.module).run(*args)
        self.want = want if isinstance(want, tuple) else (want,)
        self.got = got[: len(self.want)]

    @property
    def calls(self):
        return [
            operator_of(n).removeprefix("aten.") for n in self.nodes() if n.op == "call_function"
        ]

    def nodes(self):
        return list(self.module.graph.nodes)

    def attention(self):
        found = [n for n in self.nodes() if operator_of(n) == "attention"]
        assert len(found) == 1, self.missed
        return found[0]

    def settings(self):
        return {k: v for k, v in self.attention().kwargs.items() if k != "empty_rows"}

    def shapes(self):
        return [list(a.meta["type"].shape) for a in self.attention().args]

    def note(self):
        assert len(self.fired) == 1, self.missed
        return self.fired[0].split(" (")[1].rstrip(")")


def assert_numbers(outcome, exact=False):
    for want, got in zip(outcome.want, outcome.got, strict=True):
        assert want.dtype == got.dtype
        if exact:
            assert torch.equal(want.nan_to_num(7.5), got.nan_to_num(7.5))
        else:
            eps = torch.finfo(want.dtype).eps
            torch.testing.assert_close(got, want, rtol=16 * eps, atol=32 * eps, equal_nan=True)


def fuse(function, *args, constants=(), exact=False, rounds=1):
    outcome = Outcome(Call(function, constants), args, rounds)
    assert_numbers(outcome, exact)
    return outcome


def sdpa(q, k, v, **options):
    return F.scaled_dot_product_attention(q, k, v, **options)


def attend(q, k, v, mask=None, scale=D**-0.5):
    scores = q @ k.transpose(-1, -2) * scale
    return (scores if mask is None else scores + mask).softmax(-1) @ v


CAUSAL = torch.ones(L, L, dtype=torch.bool).tril()
HIDDEN = torch.zeros(L, L).masked_fill(~CAUSAL, -INF)
