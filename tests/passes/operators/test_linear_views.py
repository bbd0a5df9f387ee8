"""Reshapes around a linear layer go."""

import torch
import torch.nn.functional as F


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X, W, B = rand(2, 5, 8), rand(6, 8, seed=1), rand(6, seed=2)


def test_conv1d_of_gpt2(fuse):
    def conv1d(m, x):
        return torch.addmm(m.b, x.view(-1, x.size(-1)), m.t).view(2, 5, 6)

    ran = fuse(conv1d, X, t=rand(8, 6), b=B)
    assert ran.calls() == ["linear"]
    assert ran.only("linear").args[0].target == "inputs_0"


def test_an_activation_in_between_is_kept_for_the_next_round(fuse):
    def relu(m, x):
        return F.relu(F.linear(x.reshape(10, 8), m.w)).reshape(2, 5, 6)

    assert fuse(relu, X, w=W).calls() == ["aten.reshape.default", "linear", "aten.reshape.default"]


def test_another_grouping_of_the_rows_stays(fuse):
    ran = fuse(lambda m, x: F.linear(x.reshape(10, 8), m.w).reshape(5, 2, 6), X, w=W)
    assert ran.rules["linear-views"] == 0


def test_a_view_that_changes_the_last_axis_stays(fuse):
    ran = fuse(lambda m, x: F.linear(x.reshape(20, 4), m.w).reshape(2, 5, 12), X, w=rand(6, 4))
    assert ran.rules["linear-views"] == 0


def test_a_result_that_is_read_twice_is_a_near_miss(fuse):
    def twice(m, x):
        flat = F.linear(x.reshape(10, 8), m.w)
        return flat.reshape(2, 5, 6), flat.sum(0)

    ran = fuse(twice, X, w=W)
    assert ran.rules["linear-views"] == 0
    [reason] = ran.reasons("linear-views")
    assert reason.endswith("is read by 2 nodes, not by this one alone")


def test_a_flat_residual_is_a_near_miss(fuse):
    def flat(m, x, r):
        return torch.addmm(r, x.reshape(10, 8), m.t).reshape(2, 5, 6)

    ran = fuse(flat, X, rand(10, 6), t=rand(8, 6), rounds=True)
    assert ran.reasons("linear-views") == [
        "a residual of the flattened shape is added before the reshape"
    ]
