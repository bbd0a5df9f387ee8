"""Edges of the dependency graph."""

from __future__ import annotations

from forge_ugc.npuir.parser import parse_program
from forge_ugc.schedule.dependencies import NOWHERE, dependencies

TEXT = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[2]
  %1 = aten.exp.default(%0) : f32[2] device(cpu)
  %2 = aten.detach.default(%1) : f32[2] view(%1, 0 B)
  %3 = aten.add.Tensor(%2, %1) : f32[2] device(npu)
  %4 = aten.rand_like.default(%0) : f32[2] device(cpu)
  %5 = aten.relu_.default(%1) : f32[2] device(cpu)
  %6 = aten.rand_like.default(%0) : f32[2] device(cpu)
  output %3
}
"""


def test_edges_of_results_draws_and_writes() -> None:
    graph = dependencies(parse_program(TEXT))
    edges = {(i, f) for i, followers in enumerate(graph.followers) for f in followers}
    results = {(0, 1), (0, 2), (1, 2), (0, 4)}
    ordered = {(3, 4), (4, 5)}
    around_the_write = {(0, 4), (1, 4), (2, 4), (3, 4), (4, 5)}
    assert edges == results | ordered | around_the_write
    assert graph.waits == [sum(f == n for fs in graph.followers for f in fs) for n in range(6)]


def test_devices_are_numbered_by_first_use_and_views_have_none() -> None:
    graph = dependencies(parse_program(TEXT))
    assert graph.device == [0, NOWHERE, 1, 0, 0, 0]
    assert graph.devices == 2
