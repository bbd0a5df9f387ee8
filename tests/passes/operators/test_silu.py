"""SiLU written by hand."""

import torch
import torch.nn.functional as F

X = torch.linspace(-6, 6, 241)


def test_on_either_side(fuse):
    assert fuse(lambda m, x: x * torch.sigmoid(x), X, rounds=True).calls() == ["aten.silu.default"]
    assert fuse(lambda m, x: torch.sigmoid(x) * x, X, rounds=True).calls() == ["aten.silu.default"]


def test_behind_a_linear_layer(fuse):
    def swish(m, x):
        y = F.linear(x, m.w)
        return y * y.sigmoid()

    ran = fuse(swish, torch.randn(5, 8), w=torch.randn(6, 8), rounds=True)
    assert ran.only("linear").kwargs.items() >= {"activation": "silu"}.items()


def test_the_sigmoid_of_another_value_stays(fuse):
    ran = fuse(lambda m, x, y: x * torch.sigmoid(y), X, X.flip(0))
    assert ran.calls() == ["aten.sigmoid.default", "aten.mul.Tensor"]


def test_a_shared_sigmoid_stays(fuse):
    ran = fuse(lambda m, x: (x * (s := torch.sigmoid(x)), s), X)
    assert ran.rules["silu"] == 0


def test_in_bf16_it_rounds_twice(fuse):
    ran = fuse(lambda m, x: x * torch.sigmoid(x), X.bfloat16())
    assert ran.reasons("silu") == ["the chain computes in bf16[241], where every step rounds"]
