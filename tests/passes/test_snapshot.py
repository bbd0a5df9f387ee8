"""Graphs that are kept while passes change them."""

import torch
from torch import nn

import forge_ugc
from forge_ugc.capture import capture
from forge_ugc.options import Options
from forge_ugc.passes.pass_manager import PassManager
from forge_ugc.passes.snapshot import take_snapshot


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, x):
        y = torch.relu(self.up(x))
        self.seen.add_(y.sum(0))
        return y + self.seen


def captured():
    return capture(Net().eval(), (torch.ones(2, 4),), {}).graph_module


def test_every_node_is_a_line_with_its_operands_and_place():
    graph_module = captured()
    lines = {line.name: line for line in take_snapshot(graph_module)}
    assert list(lines) == [node.name for node in graph_module.graph.nodes]
    kinds = {line.operator for line in lines.values()}
    assert {"input", "const", "state", "output", "aten.relu.default"} <= kinds
    relu = lines["relu"]
    assert relu.text == "%relu = aten.relu.default(%linear) : f32[2,8]"
    assert relu.operands == ("linear",)
    assert relu.rule == ""
    assert lines["linear"].location.module == "up"
    assert "torch/nn/modules/linear.py" in lines["linear"].location.file


def test_new_nodes_say_which_rule_made_them_and_others_keep_their_names():
    graph_module = captured()
    report = PassManager(Options(keep_graphs=True)).run(graph_module)
    assert report.captured is not None
    before = {line.name for line in report.captured}
    last = report.runs[-1].graph
    assert last == take_snapshot(graph_module)
    made = [line for line in last if line.rule]
    assert "linear-activation" in {line.rule for line in made}
    assert not {line.name for line in made} & before
    assert {line.name for line in last if not line.rule} <= before
    assert report.keeping_seconds > 0


def test_a_pass_that_changes_nothing_shares_the_graph_before_it():
    report = PassManager(Options(keep_graphs=True)).run(captured())
    graphs = [report.captured, *(run.graph for run in report.runs)]
    for run, before, after in zip(report.runs, graphs, graphs[1:], strict=False):
        assert (before is after) == (run.changed == 0), run.name


def test_no_graph_is_kept_unless_asked_for():
    compiled = forge_ugc.compile(Net().eval(), (torch.ones(2, 4),))
    pipeline = compiled.result.pipeline
    assert pipeline.captured is None
    assert all(run.graph is None for run in pipeline.runs)
    assert pipeline.keeping_seconds == 0
