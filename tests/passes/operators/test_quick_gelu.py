"""GELU by a sigmoid behind a linear layer."""

import pytest
import torch
import torch.nn.functional as F


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


X, W = rand(2, 5, 8), rand(6, 8, seed=1)


def quick(m, x):
    y = F.linear(x, m.w)
    return y * torch.sigmoid(1.702 * y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_is_bit_equal_in_every_dtype(fuse, dtype):
    ran = fuse(quick, X.to(dtype), w=W.to(dtype))
    assert ran.calls() == ["linear"]
    assert ran.only("linear").kwargs.items() >= {"activation": "quick_gelu"}.items()


def test_another_slope_is_a_near_miss(fuse):
    def steeper(m, x):
        y = F.linear(x, m.w)
        return torch.sigmoid(y * 1.8) * y

    ran = fuse(steeper, X, w=W)
    assert ran.reasons("quick-gelu") == ["the sigmoid's slope is 1.8, quick_gelu's is 1.702"]


def test_another_reader_is_a_near_miss(fuse):
    def shared(m, x):
        y = F.linear(x, m.w)
        return y * torch.sigmoid(1.702 * y), y

    [reason] = fuse(shared, X, w=W).reasons("quick-gelu")
    assert reason.endswith("is read outside of the activation too")


def test_a_residual_inside_is_a_near_miss(fuse):
    def added(m, x, r):
        y = torch.addmm(r, x, m.w.T)
        return y * torch.sigmoid(1.702 * y)

    ran = fuse(added, X[0], rand(5, 6), w=W, rounds=True)
    assert ran.reasons("quick-gelu") == ["the linear layer has an activation or a residual already"]


def test_the_sigmoid_of_something_else_is_left(fuse):
    ran = fuse(lambda m, x, z: F.linear(x, m.w) * torch.sigmoid(1.702 * z), X, rand(2, 5, 6), w=W)
    assert ran.rules["quick-gelu"] == 0
