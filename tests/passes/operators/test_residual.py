"""Residual additions join the linear layer."""

import pytest
import torch
import torch.nn.functional as F


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


X, R, W, B = rand(2, 5, 8), rand(2, 5, 6, seed=3), rand(6, 8, seed=1), rand(6, seed=2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_on_either_side(fuse, dtype):
    x, r, w, b = (t.to(dtype) for t in (X, R, W, B))
    for function in (
        lambda m, x, r: r + F.linear(x, m.w, m.b),
        lambda m, x, r: F.linear(x, m.w, m.b) + r,
        lambda m, x, r: r + F.gelu(F.linear(x, m.w, m.b)),
    ):
        ran = fuse(function, x, r, w=w, b=b)
        assert ran.calls() == ["linear"]
        assert ran.only("linear").args[3].target == "inputs_1"


def test_a_residual_computed_after_the_layer(fuse):
    def late(m, x, r):
        y = F.linear(x, m.w)
        return y + torch.exp(r)

    assert fuse(late, X, R, w=W).calls() == ["aten.exp.default", "linear"]


def test_the_later_of_two_layers_takes_the_earlier(fuse):
    def both(m, x, r):
        return F.linear(x, m.w) + F.linear(r, m.v)

    ran = fuse(both, X, R, w=W, v=rand(6, 6))
    assert ran.calls() == ["linear", "linear"]


def test_a_transposed_residual_gives_up_the_layout_only(fuse):
    ran = fuse(lambda m, x, r: r.transpose(0, 1) + F.linear(x, m.w), X, rand(5, 2, 6), w=W)
    assert ran.calls() == ["aten.transpose.int", "linear"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda m, x, r: F.linear(x, m.w) + r[:1],
            "the residual is f32[1,5,6], the linear layer's result f32[2,5,6]",
        ),
        (
            lambda m, x, r: F.linear(x[:1], m.w) + r,
            "the residual is f32[2,5,6], the linear layer's result f32[1,5,6]",
        ),
        (
            lambda m, x, r: F.linear(x, m.w) + r.double(),
            "the residual is f64[2,5,6], the linear layer's result f32[2,5,6]",
        ),
        (
            lambda m, x, r: torch.add(F.linear(x, m.w), r, alpha=2),
            "alpha scales one of the addends",
        ),
    ],
)
def test_refusals(fuse, function, reason):
    ran = fuse(function, X, R, w=W)
    assert ran.reasons("residual") == [reason]
    assert ran.rules["residual"] == 0


def test_a_shared_result_is_a_near_miss(fuse):
    def twice(m, x, r):
        y = F.linear(x, m.w)
        return y + r, y * 2

    [reason] = fuse(twice, X, R, w=W).reasons("residual")
    assert reason.endswith("is read by 2 nodes, not by this one alone")


def test_a_result_added_to_itself_is_none(fuse):
    def twice(m, x):
        y = F.linear(x, m.w)
        return y + y

    assert fuse(twice, X, w=W).calls() == ["linear", "aten.add.Tensor"]


def test_a_second_residual_is_a_near_miss(fuse):
    ran = fuse(lambda m, x, r: F.linear(x, m.w) + r + r.exp(), X, R, w=W)
    assert ran.reasons("residual") == ["the linear layer adds a residual already"]


def test_numbers_are_no_residuals(fuse):
    ran = fuse(lambda m, x: F.linear(x, m.w) + 1.5, X, w=W)
    assert ran.misses == []
