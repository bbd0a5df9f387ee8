"""Numbers that multiply a linear layer's result join it."""

import pytest
import torch
import torch.nn.functional as F

from forge_ugc.passes.operators.linear_scale import _inverse


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


X, R, W, B = rand(2, 5, 8), rand(2, 5, 6, seed=3), rand(6, 8, seed=1), rand(6, seed=2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("function", "scale"),
    [
        (lambda m, x, r: F.linear(x, m.w, m.b) * 0.246, 0.246),
        (lambda m, x, r: -0.5 * F.linear(x, m.w, m.b), -0.5),
        (lambda m, x, r: F.gelu(F.linear(x, m.w, m.b)) * 0.246, 0.246),
        (lambda m, x, r: F.linear(x, m.w, m.b) / 4.0, 0.25),
        (lambda m, x, r: F.linear(x, m.w, m.b) * m.c, 0.5),
    ],
)
def test_products_and_quotients_are_met_bit_by_bit(fuse, dtype, function, scale):
    x, r, w, b = (t.to(dtype) for t in (X, R, W, B))
    ran = fuse(function, x, r, w=w, b=b, c=torch.tensor(0.5, dtype=dtype))
    assert ran.calls() == ["linear"]
    assert ran.only("linear").kwargs["scale"] == scale


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_residual_joins_the_scaled_layer(fuse, dtype):
    x, r, w, b = (t.to(dtype) for t in (X, R, W, B))
    ran = fuse(lambda m, x, r: r + F.linear(x, m.w, m.b) * 0.246, x, r, w=w, b=b)
    assert ran.calls() == ["linear"]
    assert ran.only("linear").kwargs["scale"] == 0.246
    assert ran.only("linear").args[3].target == "inputs_1"


def test_a_scaled_layer_is_not_merged_with_its_neighbours(fuse):
    ran = fuse(lambda m, x, r: (F.linear(x, m.w) * 0.5, F.linear(x, m.v)), X, R, w=W, v=W + 1)
    assert sorted(ran.calls()) == ["linear", "linear"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda m, x, r: F.linear(x, m.w) / 3.0, "1 / 3 is not exact"),
        (lambda m, x, r: F.linear(x, m.w) * float("inf"), "the factor is inf"),
        (lambda m, x, r: F.linear(x, m.w) * 2.0 * 3.0, "the linear layer is scaled by 2 already"),
        (lambda m, x, r: (F.linear(x, m.w) + r) * 2.0,
         "a residual is added before the multiplication"),
        (lambda m, x, r: torch.div(F.linear(x, m.w), 4.0, rounding_mode="floor"), None),
        (lambda m, x, r: 4.0 / F.linear(x, m.w), None),
    ],
)  # fmt: skip
def test_refusals(fuse, function, reason):
    ran = fuse(function, X, R, w=W)
    reasons = ran.reasons("linear-scale")
    assert reasons[:1] == ([] if reason is None else [reason])


def test_a_shared_result_is_a_near_miss(fuse):
    def twice(m, x, r):
        y = F.linear(x, m.w)
        return y * 2.0, y + r

    [reason] = fuse(twice, X, R, w=W).reasons("linear-scale")
    assert reason.endswith("is read by 2 nodes, not by this one alone")


@pytest.mark.parametrize(
    ("function", "rule", "reason"),
    [
        (lambda m, x, r: F.relu(F.linear(x, m.w) * 2.0), "linear-activation",
         "the layer is scaled before the activation"),
        (lambda m, x, r: F.linear(x, m.w) * 2.0 + m.b, "linear-bias",
         "the constant is added after activation, scale or residual"),
        (lambda m, x, r: F.silu(F.linear(x, m.w)) * 0.5 * F.linear(x, m.v), "gated-linear",
         "the layer is scaled before the product"),
    ],
)  # fmt: skip
def test_what_comes_after_a_scale_stays_apart(fuse, function, rule, reason):
    assert fuse(function, X, R, w=W, v=W + 1, b=B).reasons(rule) == [reason]


def test_an_inverse_is_that_of_a_power_of_two():
    assert _inverse(4.0) == 0.25
    assert _inverse(-0.5) == -2.0
    assert _inverse(2.0**126) == 2.0**-126
    assert [_inverse(c) for c in (3.0, 0.0, 2.0**127, float("inf"), float("nan"))] == [None] * 5
