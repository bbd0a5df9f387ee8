"""Allocation of random and of spelt-out programs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from forge_ugc.npuir.instruction import External, Slot
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.verifier import verify
from forge_ugc.schedule.check_buffers import check_buffers
from forge_ugc.schedule.linear_scan import BufferStats, allocate

from .programs import programs


@given(programs(40))
@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_random_programs_pass_both_checkers(program: Program) -> None:
    placed, stats = allocate(program)
    check_buffers(placed)
    verify(placed)
    slots = [r.place for r in placed.results() if isinstance(r.place, Slot)]
    sizes = {s.offset_bytes: s.buffer for s in slots}
    assert stats.registers == sum(1 for _ in program.results())
    assert stats.buffers == len(sizes) == len({s.buffer for s in slots})
    assert all(sizes[s.offset_bytes] == s.buffer for s in slots)
    assert list(dict.fromkeys(s.buffer for s in slots)) == list(range(stats.buffers))
    assert stats.external_buffers == sum(isinstance(r.place, External) for r in placed.results())
    assert stats.peak_bytes == placed.arena_bytes >= stats.lower_bound_bytes
    assert stats.peak_bytes % 64 == 0
    assert allocate(placed) == (placed, stats)


CHAIN = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[4,8]
  const  @w : f32[8,8]
  %1 = linear(%0, @w) : f32[4,8]
  %2 = aten.relu.default(%1) : f32[4,8]
  %3 = aten.view.default(%2) {size = [32]} : f32[32] view(%2, 0 B)
  %4 = linear(%2, @w) : f32[4,8]
  %5 = aten.add.Tensor(%4, %2) : f32[4,8]
  %6 = aten.slice.Tensor(%5) {end = 0} : f32[0,8] view(%5, 0 B)
  %7 = aten.cat.default([%6, %6]) : f32[0,8]
  %8 = linear(%5, @w) : f32[4,8]
  output %8, %7
}
"""


def test_a_chain_takes_two_buffers() -> None:
    placed, stats = allocate(parse_program(CHAIN))
    assert [r.place for r in placed.results()] == [
        Slot(0, 0, 128),
        Slot(0, 0, 128),
        None,
        Slot(1, 128, 128),
        Slot(1, 128, 128),
        None,
        External(),
        External(),
    ]
    assert stats == BufferStats(
        registers=8,
        buffers=2,
        external_buffers=2,
        peak_bytes=256,
        lower_bound_bytes=256,
        reused_in_place=2,
        strategy="linear-scan",
    )
    assert stats.rho == 0.5


def test_an_empty_result_takes_no_bytes() -> None:
    text = CHAIN.replace("output %8, %7", "output %8")
    placed, stats = allocate(parse_program(text))
    assert list(placed.results())[6].place == Slot(0, 0, 0)
    assert stats.peak_bytes == 256


def test_a_program_without_results_of_its_own_has_an_empty_arena() -> None:
    placed, stats = allocate(replace(parse_program(CHAIN), instructions=(), outputs=()))
    assert placed.arena_bytes == stats.peak_bytes == stats.registers == 0
    assert stats.rho == 0.0


SPLIT = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[32]
  %1 = aten.repeat.default(%0) {repeats = [1]} : f32[32]
  %2 = aten.sum.default(%1) : f32[]
  %3 = aten.repeat.default(%0) {repeats = [1]} : f32[48]
  %4 = aten.cat.default([%3, %2]) : f32[32]
  output %4
}
"""


def test_greedy_by_size_is_taken_where_the_scan_wastes_bytes() -> None:
    placed, stats = allocate(parse_program(SPLIT))
    check_buffers(placed)
    assert stats.strategy == "greedy-by-size"
    assert stats.peak_bytes == stats.lower_bound_bytes == 192 + 64


STAIRS = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[16]
  %1 = aten.repeat.default(%0) {repeats = [4]} : f32[64]
  %2 = aten.slice_copy.Tensor(%1) {end = 48} : f32[48]
  %3 = aten.neg.default(%2) : f32[48]
  %4 = aten.neg.default(%3) : f32[48]
  %5 = aten.cumsum.default(%4) {dim = 0} : f32[48]
  %6 = aten.cat.default([%5, %3]) : f32[96]
  output %6
}
"""


def test_less_is_computed_in_place_where_that_lets_the_rest_fit() -> None:
    placed, stats = allocate(parse_program(STAIRS))
    check_buffers(placed)
    assert stats.strategy == "greedy-apart"
    assert stats.peak_bytes == stats.lower_bound_bytes
