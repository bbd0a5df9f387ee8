"""Parallel linear layers over one input."""

import torch
import torch.nn.functional as F
from torch import nn


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X = rand(2, 5, 8)
PARAMETERS = {"q": rand(6, 8), "k": rand(4, 8, seed=1), "v": rand(4, 8, seed=2), "b": rand(6)}


def qkv(m, x):
    return F.linear(x, m.q, m.b), F.linear(x, m.k), F.linear(x, m.v)


def test_three_with_one_bias(fuse, pin):
    ran = fuse(qkv, X, **PARAMETERS)
    assert ran.rules == {"linear": 3, "merged-linear": 1}
    pin("merged_linear", ran.before + "\n" + ran.after)


def test_two(fuse):
    ran = fuse(lambda m, x: (F.linear(x, m.k), F.linear(x, m.v)), X, **PARAMETERS)
    assert ran.calls() == ["merged_linear", "getitem", "getitem"]


def test_a_weight_that_is_declared_later_moves_up(fuse):
    def late(m, x):
        y = F.linear(x, m.k)
        return y, F.linear(x, m.t.T), F.linear(y, m.q[:, :4].contiguous())

    ran = fuse(late, X, t=rand(8, 3), **PARAMETERS)
    assert ran.rules["merged-linear"] == 1


def test_one_weight_twice(fuse):
    ran = fuse(lambda m, x: (F.linear(x, m.k), F.linear(x, m.k) + 1), X, **PARAMETERS)
    assert ran.rules["merged-linear"] == 1


def test_layers_with_activation_or_residual_stay_apart(fuse):
    def mixed(m, x):
        return F.relu(F.linear(x, m.q)), F.linear(x, m.k), F.linear(x, m.v) + x[..., :4]

    ran = fuse(mixed, X, **PARAMETERS)
    assert ran.rules["merged-linear"] == 0
    assert ran.reasons("merged-linear") == []


def test_layers_over_different_inputs_stay_apart(fuse):
    ran = fuse(lambda m, x, y: (F.linear(x, m.k), F.linear(y, m.v)), X, rand(2, 5, 8), **PARAMETERS)
    assert ran.rules["merged-linear"] == 0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.k, self.v = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x):
        return self.k(x) * self.v(x).exp()


def test_layers_of_one_module_are_merged_those_of_others_are_not(fuse):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(), Block()])

        def forward(self, x):
            return self.blocks[0](x), self.blocks[1](x)

    ran = fuse(Net(), X)
    assert ran.rules["merged-linear"] == 2


def test_single_layers_of_other_modules_are_a_near_miss(fuse):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(8, 4)) for _ in range(2)])

        def forward(self, x):
            return self.blocks[0](x), self.blocks[1](x)

    ran = fuse(Net(), X)
    assert ran.reasons("merged-linear") == [
        "the other linear layers over this input belong to other modules"
    ]


def test_a_single_layer_of_another_module_before_them_does_not_keep_layers_apart(fuse):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.router = nn.Sequential(nn.Linear(8, 4))
            self.block = Block()

        def forward(self, x):
            return self.router(x), self.block(x)

    ran = fuse(Net(), X)
    assert ran.rules["merged-linear"] == 1
