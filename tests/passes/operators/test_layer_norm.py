"""Layer norms written by hand."""

import pytest
import torch
from transformers.models.cohere.modeling_cohere import CohereLayerNorm


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


X, W, B = 3 * rand(2, 5, 16) + 1, rand(16, seed=1), rand(16, seed=2)


def mean(x):
    return x.mean(-1, keepdim=True)


def centred(x):
    return x - mean(x)


CHAINS = {
    "squares": lambda m, x: centred(x) / torch.sqrt(mean(centred(x) ** 2) + 1e-5) * m.w + m.b,
    "rsqrt": lambda m, x: m.b + m.w * (centred(x) * torch.rsqrt(mean(centred(x) ** 2) + 1e-5)),
    "one difference": lambda m, x: (d := centred(x)) / torch.sqrt(mean(d * d) + 1e-5) * m.w + m.b,
    "var": lambda m, x: (
        centred(x) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5) * m.w + m.b
    ),
    "correction": lambda m, x: (
        centred(x) / torch.sqrt(x.var(2, keepdim=True, correction=0) + 1e-5) * m.w + m.b
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_every_form(fuse, name):
    ran = fuse(CHAINS[name], X, w=W, b=B, rounds=True)
    assert ran.calls() == ["aten.layer_norm.default"]
    node = ran.only("aten.layer_norm.default")
    assert [a.target for a in node.args[2:4]] == ["w", "b"]
    assert node.args[4] == 1e-5


def test_before_and_after(fuse, pin):
    ran = fuse(CHAINS["var"], X, w=W, b=B, rounds=True)
    pin("layer_norm", ran.before + "\n" + ran.after)


def test_cohere_in_bf16_keeps_its_casts(fuse):
    ran = fuse(CohereLayerNorm(16, eps=1e-5).bfloat16(), X.bfloat16())
    assert ran.rules["layer-norm"] == 1
    assert ran.calls().count("aten.to.dtype") == 2


def test_without_weight_the_addend_stays(fuse):
    def shifted(m, x):
        return centred(x) / torch.sqrt(mean(centred(x) ** 2) + 1e-5) + m.b

    assert fuse(shifted, X, b=B, rounds=True).calls() == [
        "aten.layer_norm.default", "aten.add.Tensor",
    ]  # fmt: skip


def test_a_weight_per_head_stays_outside(fuse):
    def norm(m, x):
        return m.w * (centred(x) * torch.rsqrt(mean(centred(x) ** 2) + 1e-5))

    ran = fuse(norm, X, w=rand(5, 16), rounds=True)
    assert ran.calls() == ["aten.layer_norm.default", "aten.mul.Tensor"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda m, x: centred(x) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5),
            "the variance divides by n - 1, layer_norm by n",
        ),
        (
            lambda m, x: centred(x) / torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5),
            "the variance is not that of the last axis, kept",
        ),
        (
            lambda m, x: (x - x.mean(1, keepdim=True)) * torch.rsqrt(
                x.var(-1, keepdim=True, unbiased=False) + 1e-5),
            "the mean runs over axes [1], the norm over the last one alone",
        ),
        (
            lambda m, x: centred(x) * torch.rsqrt((centred(x) ** 2).mean(1, keepdim=True) + 1e-5),
            "the mean runs over axes [1], the norm over the last one alone",
        ),
        (
            lambda m, x: centred(x) * torch.rsqrt(
                x.exp().var(-1, keepdim=True, unbiased=False) + 1e-5),
            "inputs_0 is divided by the deviation of exp",
        ),
        (
            lambda m, x: centred(x) / (x.std(-1, keepdim=True) + 1e-5),
            "it divides by a standard deviation: eps, if any, is added to the root",
        ),
        (
            lambda m, x: centred(x) / x.std(-1, keepdim=True, unbiased=False),
            "it divides by a standard deviation: eps, if any, is added to the root",
        ),
    ],
)  # fmt: skip
def test_refusals(fuse, function, reason):
    ran = fuse(function, X)
    assert ran.reasons("layer-norm") == [reason]
    assert ran.rules["layer-norm"] == 0


def test_a_chain_in_bf16_is_a_near_miss(fuse):
    ran = fuse(lambda m, x: centred(x) * torch.rsqrt(mean(centred(x) ** 2) + 1e-5), X.bfloat16())
    assert ran.reasons("layer-norm") == [
        "the chain computes in bf16[2,5,16], where every step rounds"
    ]
