"""A constant vector behind a linear layer becomes its bias."""

import pytest
import torch
import torch.nn.functional as F


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X, W, B = rand(2, 5, 8), rand(6, 8, seed=1), rand(6, seed=2)


@pytest.mark.parametrize("shape", [(6,), (1, 6), (1, 1, 6)])
def test_a_vector_on_either_side(fuse, shape):
    for function in (lambda m, x: x @ m.t + m.b, lambda m, x: m.b + x @ m.t):
        ran = fuse(function, X, t=rand(8, 6), b=B.view(shape), rounds=True)
        assert ran.calls() == ["linear"]
        bias = getattr(ran.graph_module, ran.only("linear").args[2].target)
        assert bias.untyped_storage().data_ptr() == B.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda m, x: x @ m.t + m.one, "the addend is f32[1], a bias would be [6]"),
        (lambda m, x: x @ m.t + m.rows, "the addend is f32[5,1], a bias would be [6]"),
        (lambda m, x: x @ m.t + m.wide, "the addend is f32[3,1,1,6], a bias would be [6]"),
        (lambda m, x: F.linear(x, m.w, m.b) + m.b, "the linear layer has a bias already"),
    ],
)
def test_refusals(fuse, function, reason):
    ran = fuse(
        function, X, t=rand(8, 6), w=W, b=B, one=B[:1].clone(), rows=rand(5, 1),
        wide=rand(3, 1, 1, 6),
    )  # fmt: skip
    assert ran.reasons("linear-bias") == [reason]
    assert ran.rules["linear-bias"] == 0


def test_a_shared_result_is_a_near_miss(fuse):
    def twice(m, x):
        y = x @ m.t
        return y + m.b, y * 2

    [reason] = fuse(twice, X, t=rand(8, 6), b=B).reasons("linear-bias")
    assert reason.endswith("is read by 2 nodes, not by this one alone")


def test_a_scaled_vector_is_no_bias(fuse):
    ran = fuse(lambda m, x: torch.add(x @ m.t, m.b, alpha=2), X, t=rand(8, 6), b=B)
    assert ran.rules["linear-bias"] == 0


def test_a_constant_of_the_whole_shape_is_a_residual(fuse):
    ran = fuse(lambda m, x: x @ m.t + m.r, X, t=rand(8, 6), r=rand(2, 5, 6))
    assert ran.rules["residual"] == 1
    assert ran.misses == []
