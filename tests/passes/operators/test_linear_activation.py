"""Activations join the linear layer before them."""

import pytest
import torch
import torch.nn.functional as F

ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


X, W, B = rand(2, 5, 8), rand(6, 8, seed=1), rand(6, seed=2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation(fuse, name, dtype):
    act = ACTIVATIONS[name]
    ran = fuse(lambda m, x: act(F.linear(x, m.w, m.b)), X.to(dtype), w=W.to(dtype), b=B.to(dtype))
    assert ran.calls() == ["linear"]
    assert ran.only("linear").kwargs.items() >= {"activation": name}.items()


def test_in_place_relu(fuse):
    assert fuse(lambda m, x: F.linear(x, m.w).relu_(), X, w=W).calls() == ["linear"]


def test_bias_then_activation_then_residual_in_one_run(fuse, pin):
    ran = fuse(lambda m, x, r: r + F.silu(x @ m.t + m.b), X, rand(2, 5, 6), t=rand(8, 6), b=B,
               rounds=True)  # fmt: skip
    pin("linear_activation", ran.before + "\n" + ran.after)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda m, x: F.relu(torch.tanh(F.linear(x, m.w))),
            "the linear layer ends in tanh already",
        ),
        (
            lambda m, x, r: F.relu(torch.addmm(r, x[0], m.w.T)),
            "a residual is added before the activation",
        ),
    ],
)
def test_refusals(fuse, function, reason):
    ran = fuse(function, X, *([rand(5, 6)] if "residual" in reason else []), w=W)
    assert ran.reasons("linear-activation") == [reason]


def test_a_shared_result_is_a_near_miss(fuse):
    def twice(m, x):
        y = F.linear(x, m.w)
        return F.relu(y), y * 2

    ran = fuse(twice, X, w=W)
    assert ran.rules["linear-activation"] == 0
    [reason] = ran.reasons("linear-activation")
    assert reason.endswith("is read by 2 nodes, not by this one alone")


def test_a_result_among_the_outputs_is_shared(fuse):
    def both(m, x):
        y = F.linear(x, m.w)
        return y, F.relu(y)

    assert fuse(both, X, w=W).rules["linear-activation"] == 0


def test_the_order_of_activation_and_residual_is_kept(fuse):
    ran = fuse(lambda m, x, r: F.relu(F.linear(x, m.w) + r), X, rand(2, 5, 6), w=W)
    assert ran.calls() == ["linear", "aten.relu.default"]


def test_the_share_of_aggressiveness_switches_it(fuse):
    from forge_ugc.options import Options

    function = lambda m, x: F.relu(F.linear(x, m.w))  # noqa: E731
    low = fuse(function, X, w=W, options=Options(fusion_aggressiveness=0.1))
    assert low.calls() == ["linear", "aten.relu.default"]
    off = fuse(function, X, w=W, options=Options(disable=frozenset({"linear-activation"})))
    assert off.calls() == ["linear", "aten.relu.default"]
    none = fuse(function, X, w=W, options=Options(fusion_aggressiveness=0.0))
    assert none.calls() == ["aten.linear.default", "aten.relu.default"]
