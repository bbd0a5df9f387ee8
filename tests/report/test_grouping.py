from dataclasses import replace

from forge_ugc.npuir.instruction import SourceLocation
from forge_ugc.report.grouping import Group, group_fired, group_near_misses, node_count


def test_layers_fold_into_one_group(events):
    assert group_fired(events.fired(i) for i in (0, 1, 12)) == (
        Group(rule="rms-norm", text="rms_norm", module="model.layers.*.norm",
              source="model.py:7", node="rms_norm_0", count=3),
    )  # fmt: skip


def test_reasons_rules_and_places_stay_apart_and_the_most_frequent_comes_first(events):
    misses = [events.missed(0, "a"), events.missed(0, "b"), events.missed(1, "b")]
    moved = replace(events.missed(2, "b"), location=SourceLocation(module="model2.layers.2.attn"))
    groups = group_near_misses([*misses, moved])
    assert [(g.text, g.module, g.source, g.count) for g in groups] == [
        ("b", "model.layers.*.attn", "model.py:9", 2),
        ("a", "model.layers.*.attn", "model.py:9", 1),
        ("b", "model2.layers.*.attn", "", 1),
    ]


def test_numbers_of_layers_and_nodes_fold_and_numbers_inside_names_stay(events):
    place = SourceLocation(module="0.conv1d.2.fc1")
    texts = ["view_1 (aten.view.default) is bf16_3", "view (aten.view.default) is bf16"]
    misses = [replace(events.missed(0, text), location=place) for text in texts]
    (group,) = group_near_misses(misses)
    assert (group.text, group.module) == (texts[1], "*.conv1d.*.fc1")


def test_node_count():
    assert node_count((("a", 2), ("b", 3))) == 5
    assert node_count(()) == 0
