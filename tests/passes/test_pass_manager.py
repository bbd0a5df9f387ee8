"""The pass manager: rounds, times, counts, checks and files."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.capture.structure import leaves
from forge_ugc.errors import InternalError, OptionError
from forge_ugc.options import Options
from forge_ugc.passes import base, pass_manager
from forge_ugc.passes.base import GraphPass, NearMiss, PassResult
from forge_ugc.passes.graph import aten, location
from forge_ugc.passes.pass_manager import PassManager

SIMPLIFY = (
    "dead-code",
    "device-constants",
    "fold-constants",
    "common-subexpressions",
    "layout",
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        mask = torch.ones(3, 3).tril() * 1.0
        y = (x @ self.w.t()).reshape(3, 3).transpose(0, 1).transpose(0, 1)
        return (y * mask).clone() + (y * mask), nn.functional.dropout(x, 0.1, False) * 1.0


def captured(module, *inputs):
    return capture(module.eval(), inputs).graph_module


@pytest.fixture
def with_pass(monkeypatch):
    """Registers a pass for one test."""

    def register(name, run):
        kind = type("Temporary", (GraphPass,), {"name": name, "run": run})
        known = dict(base.registered())
        monkeypatch.setattr(base, "registered", lambda: {**known, name: kind})
        monkeypatch.setattr(pass_manager, "registered", lambda: {**known, name: kind})

    return register


def test_a_pipeline_runs_until_a_round_changes_nothing():
    graph_module = captured(Net(), torch.randn(3, 3))
    report = PassManager(Options(passes=SIMPLIFY)).run(graph_module)
    last = [run for run in report.runs if run.round == report.rounds]
    assert 2 <= report.rounds <= 4
    assert all(run.changed == 0 for run in report.runs[-len(SIMPLIFY) :])
    assert len(last) <= len(SIMPLIFY)
    again = PassManager(Options(passes=SIMPLIFY)).run(graph_module)
    assert again.rounds == 1
    assert not again.details


def test_rounds_have_a_limit(with_pass):
    with_pass("restless", lambda self, gm, options: PassResult(changed=1))
    report = PassManager(Options(passes=("restless",), max_rounds=3)).run(
        captured(Net(), torch.randn(3, 3))
    )
    assert (report.rounds, len(report.runs)) == (3, 3)


def test_counts_by_operator_before_and_after():
    graph_module = captured(Net(), torch.randn(3, 3))
    count = len([n for n in graph_module.graph.nodes if n.op == "call_function"])
    report = PassManager(Options(passes=("fold-constants", "common-subexpressions"))).run(
        graph_module
    )
    fold = report.runs[0]
    assert (fold.name, fold.round) == ("fold-constants", 1)
    assert dict(fold.before)["aten.mul.Tensor"] == 4
    assert dict(fold.after)["aten.mul.Tensor"] == 3
    assert dict(report.runs[1].before) == dict(fold.after)
    assert report.nodes_before == count
    assert report.nodes_after == len(
        [n for n in graph_module.graph.nodes if n.op == "call_function"]
    )
    assert report.seconds == sum(run.seconds for run in report.runs) > 0


def test_the_module_is_recompiled_and_unused_constants_are_gone():
    x = torch.randn(3, 3)
    module = Net()
    graph_module = captured(module, x)
    PassManager(Options(passes=SIMPLIFY)).run(graph_module)
    with torch.no_grad():
        got, want = graph_module(x), module(x)
    assert all(torch.equal(g, w) for g, w in zip(got, want, strict=True))
    assert not hasattr(graph_module, "w")


def test_near_misses_are_those_of_the_last_run_each_once(with_pass):
    calls = []

    def run(self, graph_module, options):
        calls.append(1)
        node = next(iter(graph_module.graph.nodes))
        miss = NearMiss(
            rule="r", node=node.name, reason=f"run {len(calls)}", location=location(node)
        )
        return PassResult(changed=int(len(calls) < 3), near_misses=(miss, miss))

    with_pass("missing", run)
    report = PassManager(Options(passes=("missing",))).run(captured(Net(), torch.randn(3, 3)))
    assert [miss.reason for miss in report.near_misses] == ["run 3"]


def test_passes_can_be_left_out_and_names_are_checked():
    options = Options(passes=SIMPLIFY, disable=frozenset({"layout", "dead-code"}))
    report = PassManager(options).run(captured(Net(), torch.randn(3, 3)))
    assert {run.name for run in report.runs} == set(SIMPLIFY) - {"layout", "dead-code"}
    with pytest.raises(OptionError, match="no pass and no rewrite is called 'layuot'"):
        PassManager(Options(passes=SIMPLIFY, disable=frozenset({"layuot"})))
    with pytest.raises(OptionError, match="no pass is called 'nothing'"):
        PassManager(Options(passes=("nothing",)))


def test_progress_is_told():
    told = []
    options = Options(
        passes=("dead-code", "layout"), max_rounds=1, progress=lambda *a: told.append(a)
    )
    PassManager(options).run(captured(Net(), torch.randn(3, 3)))
    assert told == [("passes", 1, 2), ("passes", 2, 2)]


def test_graphs_are_written_as_numbered_files(tmp_path):
    options = Options(passes=("dead-code", "layout"), max_rounds=1, dump_ir=tmp_path / "ir")
    PassManager(options).run(captured(Net(), torch.randn(3, 3)))
    files = sorted(p.name for p in (tmp_path / "ir").iterdir())
    assert files == ["00-captured.txt", "01-round1-dead-code.txt", "02-round1-layout.txt"]
    assert "aten.matmul.default" in (tmp_path / "ir" / files[0]).read_text()


def test_verified_passes_report_their_difference_and_leave_the_generator_alone():
    class Noisy(nn.Module):
        def forward(self, x):
            return torch.rand_like(x) + x * 1.0, x.sum()

    x = torch.randn(3, 3)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    report = PassManager(Options(passes=SIMPLIFY, verify_passes=True)).run(
        captured(Noisy(), x), (x,)
    )
    assert {run.max_abs_difference for run in report.runs} == {0.0}
    assert torch.equal(torch.random.get_rng_state(), before)


def breaking(change):
    def run(self, graph_module, options):
        add = next(n for n in graph_module.graph.nodes if n.target is aten.add.Tensor)
        change(graph_module.graph, add)
        return PassResult(changed=1)

    return run


class Sum(nn.Module):
    def forward(self, x):
        return x + 1.0, x * 2


def wrong_value(graph, add):
    add.args = (add.args[0], 1.001)


def wrong_shape(graph, add):
    with graph.inserting_after(add):
        flat = graph.call_function(aten.sum.default, (add,))
    graph.output_node().replace_input_with(add, flat)


def wrong_dtype(graph, add):
    with graph.inserting_after(add):
        wide = graph.call_function(aten.to.dtype, (add, torch.float64))
    graph.output_node().replace_input_with(add, wide)


def one_result_less(graph, add):
    output = graph.output_node()
    output.args = (tuple(output.args[0])[:1],)


def no_longer_runs(graph, add):
    add.target = aten.mm.default
    add.args = (add.args[0], add.args[0])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (wrong_value, "result 0: the result differs by 0.001 torch.float32"),
        (wrong_shape, r"result 0: the result is f32\[\], expected f32\[3\]"),
        (wrong_dtype, r"result 0: the result is f64\[3\], expected f32\[3\]"),
        (one_result_less, "the graph returned 2 results before, 1 after"),
        (no_longer_runs, "self must be a matrix"),
    ],
)
def test_a_pass_that_changes_the_results_is_named(with_pass, change, why):
    with_pass("breaks", breaking(change))
    x = torch.ones(3)
    manager = PassManager(Options(passes=("breaks",), verify_passes=True))
    with pytest.raises(InternalError) as caught:
        manager.run(captured(Sum(), x), (x,))
    assert caught.value.what.startswith(("the pass breaks", "the graph does not run after breaks"))
    assert re.search(why, caught.value.why)


def test_verification_needs_inputs():
    with pytest.raises(OptionError, match="verify_passes needs example inputs"):
        PassManager(Options(passes=SIMPLIFY, verify_passes=True)).run(
            captured(Sum(), torch.ones(3))
        )


STEPS = {
    "add": lambda a, b: a + b,
    "plus one": lambda a, b: a + 1.0,
    "times one": lambda a, b: a * 1.0,
    "plus zero": lambda a, b: a + 0.0,
    "neg": lambda a, b: -a,
    "transpose": lambda a, b: a.t(),
    "flat": lambda a, b: a.reshape(-1).view(3, 3),
    "contiguous": lambda a, b: a.contiguous(),
    "clone": lambda a, b: a.clone(),
    "row": lambda a, b: a[:1].expand(3, 3),
    "table": lambda a, b: a * torch.arange(9.0).view(3, 3),
    "constant": lambda a, b: torch.full((3, 3), 2.0),
    "cast": lambda a, b: a.double().float(),
    "write": lambda a, b: a.clone().mul_(2.0),
    "unsqueeze": lambda a, b: a.unsqueeze(0).transpose(0, 1).squeeze(1),
    "heads": lambda a, b: a.view(3, 3, 1).transpose(0, 1).transpose(0, 1).reshape(3, 3)
    if a.is_contiguous()
    else a,
    "mask": lambda a, b: a.masked_fill(torch.ones(3, 3).triu(1).bool(), -1.0),
}  # fmt: skip


class Program(nn.Module):
    """A straight-line program: each step takes two earlier values; some values are returned."""

    def __init__(self, steps, outputs):
        super().__init__()
        self.steps, self.outputs = steps, outputs

    def __repr__(self):
        return f"Program({self.steps}, {self.outputs})"

    def forward(self, x):
        values = [x]
        for name, i, j in self.steps:
            values.append(STEPS[name](values[i % len(values)], values[j % len(values)]))
        return tuple(values[i % len(values)] for i in self.outputs)


PROGRAMS = st.builds(
    Program,
    st.lists(
        st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9)),
        min_size=1,
        max_size=9,
    ),
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
)


@settings(deadline=None, max_examples=40)
@given(PROGRAMS)
def test_random_programs_keep_values_signs_and_aliasing(program):
    x = torch.tensor([[-0.0, 0.0, 1.0], [2.0, -3.0, float("inf")], [0.5, float("nan"), -1.0]])
    found = capture(program.eval(), (x,))
    PassManager(Options(passes=SIMPLIFY)).run(found.graph_module)
    with torch.no_grad():
        flat, want = found.graph_module(x), program(x)
    got = [flat[leaf.index] for _, leaf in leaves(found.output)]
    for g, w in zip(got, want, strict=True):
        assert torch.equal(g.isnan(), w.isnan())
        assert torch.equal(g.nan_to_num(), w.nan_to_num())
        assert torch.equal(g.signbit() & ~g.isnan(), w.signbit() & ~w.isnan())
    same = [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for b in (x, *got)]
            for a in (x, *got)]  # fmt: skip
    eager = [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for b in (x, *want)]
             for a in (x, *want)]  # fmt: skip
    assert same == eager
