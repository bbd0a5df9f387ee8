"""Running one pass on a captured module, with every check that holds for all passes."""

from dataclasses import dataclass

import pytest
import torch
from graph_checks import TypeChecker
from torch import fx

from forge_ugc.capture import capture
from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.options import Options
from forge_ugc.passes.base import PassResult, build
from forge_ugc.passes.text import format_graph


@dataclass
class Ran:
    result: PassResult
    before: str
    after: str
    graph_module: fx.GraphModule
    rules: list[str]

    def calls(self):
        """Opcodes of the graph after the pass."""
        return [n.split(" = ")[1].split("(")[0] for n in self.after.splitlines() if " = " in n]


def memory(tensors):
    """For each tensor the position of the first one that shares its storage."""
    stores = [t.untyped_storage().data_ptr() for t in tensors]
    return [stores.index(s) for s in stores]


def same(got, want):
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert type_of(g).shape == type_of(w).shape
        assert g.dtype == w.dtype
        assert torch.equal(torch.isnan(g), torch.isnan(w))
        assert torch.equal(torch.signbit(g), torch.signbit(w))
        assert torch.equal(torch.nan_to_num(g), torch.nan_to_num(w))


def flat(value):
    return list(value) if isinstance(value, tuple | list) else [value]


@pytest.fixture
def as_module():
    """Makes a module of a function."""
    return to_module


@pytest.fixture
def run_pass():
    """`run_pass("dead-code", module, *inputs)`: results bit for bit as in eager, aliasing too."""

    def run(name, module, *inputs, graph_module=None, aliasing=True, **options):
        if not isinstance(module, torch.nn.Module):
            module = to_module(module)
        module.eval()
        if graph_module is None:
            graph_module = capture(module, inputs).graph_module
        before = format_graph(graph_module)
        [graph_pass] = build([name])
        result = graph_pass.run(graph_module, Options(**options))
        graph_module.graph.lint()
        with torch.no_grad():
            want = flat(module(*inputs))
            got = list(TypeChecker(graph_module).run(*inputs))
        same(got, want)
        if aliasing:
            assert memory([*inputs, *got]) == memory([*inputs, *want])
        rules = [fired.rule for fired in result.details]
        return Ran(result, before, format_graph(graph_module), graph_module, rules)

    return run


def to_module(function):
    class Net(torch.nn.Module):
        def forward(self, *args):
            return function(*args)

    return Net()
