"""Dead code: what goes, and what has to stay."""

import torch
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.options import Options
from forge_ugc.passes.base import build
from forge_ugc.passes.graph import aten


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x, ignored):
        self.unused(x).relu().sum()
        return self.used(x)


def test_unused_calls_and_constants_go_and_inputs_stay(run_pass, pin):
    ran = run_pass("dead-code", Unused(), torch.randn(4, 3), torch.randn(1))
    pin("dead_code.before", ran.before)
    pin("dead_code.after", ran.after)
    assert ran.result.changed == 5
    assert not hasattr(ran.graph_module, "unused_weight")
    assert hasattr(ran.graph_module, "used_weight")


def test_a_second_run_changes_nothing(run_pass):
    module, inputs = Unused(), (torch.randn(4, 3), torch.randn(1))
    first = run_pass("dead-code", module, *inputs)
    again = run_pass("dead-code", module, *inputs, graph_module=first.graph_module)
    assert again.result.changed == 0


def test_an_unused_random_draw_stays_since_later_draws_depend_on_it():
    class Net(nn.Module):
        def forward(self, x):
            torch.rand_like(x)
            return torch.rand_like(x)

    graph_module = capture(Net(), (torch.zeros(4),)).graph_module
    x = graph_module.graph.find_nodes(op="placeholder")[0]
    first = next(n for n in graph_module.graph.nodes if n.op == "call_function")
    assert not first.users or len(list(graph_module.graph.nodes)) == 3
    build(["dead-code"])[0].run(graph_module, Options())
    draws = [n for n in graph_module.graph.nodes if n.target is aten.rand_like.default]
    assert len(draws) == 2
    assert not x._erased


def test_effects_and_states_stay(run_pass):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("last", torch.zeros(3))

        def forward(self, x):
            self.last.copy_(x)
            return x + 1

    graph_module = capture(Net(), (torch.ones(3),)).graph_module
    graph = graph_module.graph
    x = graph.find_nodes(op="placeholder")[0]
    with graph.inserting_before(graph.output_node()):
        check = graph.call_function(aten._assert_async.msg, (x, "no"))
    check.meta["type"] = None
    build(["dead-code"])[0].run(graph_module, Options())
    assert not check._erased
    assert hasattr(graph_module, "last")
