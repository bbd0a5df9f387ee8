"""Running fuse-operators on a captured module, with the checks that hold for every rewrite."""

from collections import Counter
from dataclasses import dataclass

import pytest
import torch
from torch import fx

from forge_ugc.capture import capture
from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.options import Options
from forge_ugc.passes.base import build
from forge_ugc.passes.text import format_graph, operator_of


class TypeChecker(fx.Interpreter):
    """Runs a graph and compares every value with the type that the graph records for it."""

    def run_node(self, n):
        value = super().run_node(n)
        if n.op in {"call_function", "get_attr"}:
            values = value if isinstance(value, list | tuple) else [value]
            kinds = n.meta["type"] if isinstance(n.meta["type"], tuple) else (n.meta["type"],)
            assert tuple(type_of(v) for v in values) == kinds, n.format_node()
        return value


@dataclass
class Fused:
    """What a run of the pass did: rules that fired, near misses, and the graph."""

    rules: Counter
    misses: list
    before: str
    after: str
    graph_module: fx.GraphModule

    def calls(self):
        return [operator_of(n) for n in self.graph_module.graph.nodes if n.op == "call_function"]

    def only(self, name):
        """The one call of that operator."""
        [found] = [n for n in self.graph_module.graph.nodes if operator_of(n) == name]
        return found

    def reasons(self, rule):
        return [reason for name, _, reason in self.misses if name == rule]


class Net(torch.nn.Module):
    """A function of (module, *inputs) with parameters."""

    def __init__(self, function, parameters):
        super().__init__()
        self.function = function
        for name, value in parameters.items():
            self.register_parameter(name, torch.nn.Parameter(value, requires_grad=False))

    def forward(self, *inputs):
        return self.function(self, *inputs)


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _flat(value):
    return list(value) if isinstance(value, tuple | list) else [value]


@pytest.fixture
def fuse():
    """`fuse(function, *inputs, w=..., ...)`: captures, folds, fuses, compares with eager.

    Results must be those of eager bit by bit; with `rounds=True` up to the rounding errors of f32,
    where a rewrite takes other steps than the model (rtol 1e-5, atol 2e-6).
    """

    def run(function, *inputs, rounds=False, options=None, prepare=True, **parameters):
        net = function if isinstance(function, torch.nn.Module) else Net(function, parameters)
        graph_module = capture(net.eval(), inputs).graph_module
        simple = ("dead-code", "fold-constants") if prepare else ()
        for graph_pass in build(simple):
            graph_pass.run(graph_module, Options())
        before = format_graph(graph_module)
        [fuse_operators] = build(["fuse-operators"])
        result = fuse_operators.run(graph_module, options or Options())
        graph_module.graph.lint()
        assert not [
            n.name for n in graph_module.graph.nodes if n.op == "call_function" and not n.users
        ]
        with torch.no_grad():
            want, got = _flat(net(*inputs)), TypeChecker(graph_module).run(*inputs)
        for g, w in zip(got, want, strict=True):
            assert g.dtype == w.dtype
            if rounds:
                torch.testing.assert_close(g, w, rtol=1e-5, atol=2e-6)
            else:
                assert torch.equal(g, w)
        rules = Counter(fired.rule for fired in result.details)
        assert result.changed == sum(rules.values())
        misses = [(m.rule, m.node, m.reason) for m in result.near_misses]
        return Fused(rules, misses, before, format_graph(graph_module), graph_module)

    return run
