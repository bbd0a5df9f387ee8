"""Gate times up projection from two linear layers."""

import pytest
import torch
import torch.nn.functional as F


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


X, G, U = rand(2, 5, 8), rand(6, 8, seed=1), rand(6, 8, seed=2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_gate_may_stand_on_either_side(fuse, dtype):
    for function in (
        lambda m, x: F.silu(F.linear(x, m.g)) * F.linear(x, m.u),
        lambda m, x: F.linear(x, m.u) * F.silu(F.linear(x, m.g)),
    ):
        ran = fuse(function, X.to(dtype), g=G.to(dtype), u=U.to(dtype))
        assert ran.calls() == ["gated_linear"]
        node = ran.only("gated_linear")
        assert [a.target for a in node.args[1:]] == ["g", "u"]
        assert node.kwargs.items() >= {"activation": "silu"}.items()


def test_geglu_with_biases(fuse):
    ran = fuse(
        lambda m, x: F.gelu(F.linear(x, m.g, m.b)) * F.linear(x, m.u, m.c),
        X, g=G, u=U, b=rand(6), c=rand(6, seed=4),
    )  # fmt: skip
    assert ran.calls() == ["gated_linear"]


def test_without_activation_it_is_bilinear(fuse):
    ran = fuse(lambda m, x: F.linear(x, m.g) * F.linear(x, m.u), X, g=G, u=U)
    assert ran.only("gated_linear").kwargs.items() >= {"activation": "none"}.items()


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda m, x, y: F.silu(F.linear(x, m.g)) * F.linear(y, m.u),
            "gate reads inputs_0, up reads inputs_1",
        ),
        (
            lambda m, x, y: F.silu(F.linear(x, m.g)) * F.tanh(F.linear(x, m.u)),
            "both factors are activated: silu and tanh",
        ),
        (
            lambda m, x, y: F.silu(F.linear(x, m.g)) * F.linear(x, m.one),
            "gate weight is f32[6,8], up weight is f32[1,8]",
        ),
        (
            lambda m, x, y: F.silu(F.linear(x, m.g)) * (F.linear(x, m.u) + y[..., :6]),
            "a residual is added before the product",
        ),
    ],
)
def test_refusals(fuse, function, reason):
    ran = fuse(function, X, rand(2, 5, 8, seed=7), g=G, u=U, one=rand(1, 8))
    got = ran.reasons("gated-linear")
    # the residual joins later in the same walk, so that refusal shows from the next run on
    if "residual" in reason:
        from forge_ugc.options import Options
        from forge_ugc.passes.base import build

        again = build(["fuse-operators"])[0].run(ran.graph_module, Options())
        got = [m.reason for m in again.near_misses if m.rule == "gated-linear"]
    assert got == [reason]
    assert ran.rules["gated-linear"] == 0


@pytest.mark.parametrize("which", [0, 1])
def test_a_shared_factor_is_a_near_miss(fuse, which):
    def shared(m, x):
        gate, up = F.silu(F.linear(x, m.g)), F.linear(x, m.u)
        return gate * up, (gate, up)[which] * 2

    [reason] = fuse(shared, X, g=G, u=U).reasons("gated-linear")
    assert reason.endswith("is read by 2 nodes, not by this one alone")


def test_a_square_is_no_gate(fuse):
    def square(m, x):
        y = F.linear(x, m.g)
        return y * y

    assert fuse(square, X, g=G).calls() == ["linear", "aten.mul.Tensor"]
