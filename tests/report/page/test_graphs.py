"""Which node stands for one that is gone."""

from forge_ugc.npuir.instruction import SourceLocation
from forge_ugc.passes.base import Fired
from forge_ugc.passes.snapshot import GraphLine
from forge_ugc.report.page.graphs import graphs_document, replaced_by
from forge_ugc.report.page.strings import Strings

NOWHERE = SourceLocation()


def graph(*rows):
    """`y = op x` as lines; `x =` is an input."""
    lines = []
    for row in rows:
        name, _, rest = row.partition(" = ")
        operator, *operands = rest.split()
        lines.append(GraphLine(name=name, operator=operator, text=row, operands=tuple(operands),
                               rule="", location=NOWHERE))  # fmt: skip
    return tuple(lines)


def fired(what, node):
    return Fired(rule="rule", node=node, what=what, location=NOWHERE)


BEFORE = graph("x = input", "a = relu x", "b = mul a", "c = exp b", "y = output c")


def test_an_anchor_and_what_only_it_read_are_replaced_by_the_new_node():
    after = graph("x = input", "new = fused x", "y = output new")
    found = replaced_by(BEFORE, after, [fired("c -> fused (a note)", "new")])
    assert found == {"a": "new", "b": "new", "c": "new"}


def test_rewrites_of_rewritten_nodes_are_followed():
    after = graph("x = input", "last = fused x", "y = output last")
    events = [fired("b -> half", "half"), fired("half -> fused", "last"), fired("c -> f", "last")]
    assert replaced_by(BEFORE, after, events) == {"a": "last", "b": "last", "c": "last"}


def test_a_node_that_something_kept_reads_as_well_is_not_claimed():
    before = graph("x = input", "a = relu x", "b = mul a", "k = neg a", "y = output b k")
    after = graph("x = input", "new = fused x", "k = neg", "y = output new k")
    assert replaced_by(before, after, [fired("b -> fused", "new")]) == {"b": "new"}


def test_what_readers_read_instead_has_taken_the_place_of_a_node():
    before = graph("x = input", "a = relu x", "b = mul x a", "y = output b")
    after = graph("x = input", "new = fused x", "b = mul x new", "y = output b")
    assert replaced_by(before, after, []) == {"a": "new"}


def test_other_forms_of_events_name_their_node_first():
    after = graph("x = input", "a = relu x", "y = output a")
    events = [fired("b computes what a holds", "a"), fired("c: bf16", "a")]
    assert replaced_by(BEFORE, after, events) == {"b": "a", "c": "a"}


def test_unused_nodes_have_no_replacement_and_cycles_end():
    after = graph("x = input", "y = output x")
    events = [fired("nothing reads relu", "a"), fired("b -> c", "c"), fired("c -> b", "b")]
    before = graph("x = input", "a = relu x", "b = mul a", "c = exp b", "y = output x")
    assert replaced_by(before, after, events) == {}


def test_steps_name_graphs_and_rewrites_of_each_run(compiled):
    strings = Strings()
    pipeline = compiled.result.pipeline
    found = graphs_document(pipeline, strings)
    text = strings.table
    assert len(found["steps"]) == len(pipeline.runs) + 1
    names = [{text[found["lines"][i][0]] for i in graph} for graph in found["graphs"]]
    whole = found["steps"][0]
    assert whole["before"] == 0
    assert len(names[whole["before"]]) == len(pipeline.captured)
    assert names[whole["after"]] == {line.name for line in pipeline.runs[-1].graph}
    for step, run in zip(found["steps"][1:], pipeline.runs, strict=True):
        assert (step["before"] == step["after"]) == (run.changed == 0)
        for old, new in step["replaced"]:
            assert text[old] in names[step["before"]] - names[step["after"]]
            assert text[new] in names[step["after"]]
    gelus = {line.name for line in pipeline.captured if line.operator == "aten.gelu.default"}
    assert len(gelus) == 4
    assert gelus <= {text[old] for old, _ in whole["replaced"]}
