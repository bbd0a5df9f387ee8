"""Captured graphs are compared node by node, up to the names of nodes."""

import pytest
import torch
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.capture.graph_difference import graph_difference

X = torch.ones(2, 3)


class Net(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.a, self.b, self.function = nn.Linear(3, 3), nn.Linear(3, 3), function

    def forward(self, x):
        return self.function(self, x)


def graph(function):
    return capture(Net(function).eval(), (X,)).graph_module


def plain(net, x):
    return net.b(net.a(x) * torch.tensor(2.0))


def test_equal_graphs_with_other_names():
    one, other = graph(plain), graph(plain)
    for node in other.graph.nodes:
        if node.op == "call_function":
            node.name = f"renamed_{node.name}"
    assert graph_difference(one, other) is None


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda n, x: n.a(n.a(x) * torch.tensor(2.0)), "'a.weight'"),
        (lambda n, x: n.b(n.a(x) * torch.tensor(3.0)), "'3.0'"),
        (lambda n, x: n.b(n.a(x) / torch.tensor(2.0)), "aten.div.Tensor"),
        (lambda n, x: n.b(n.a(x) * torch.tensor(2.0)) + 1, "aten.add.Tensor"),
        (lambda n, x: n.b(n.a(x) * torch.tensor(2.0, dtype=torch.float64)), "torch.float64"),
    ],
)
def test_a_difference_is_named(function, said):
    one, other = graph(function), graph(plain)
    assert said in graph_difference(one, other)


def test_modules_count():
    one, other = graph(plain), graph(plain)
    linear = next(n for n in other.graph.nodes if str(n.target) == "aten.linear.default")
    linear.meta["nn_module_stack"] = {"": ("module.elsewhere", "Net")}
    assert "module.elsewhere" in graph_difference(one, other)
