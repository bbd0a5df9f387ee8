"""Schedules of random and of spelt-out programs."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, assume, given, settings

from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.verifier import verify
from forge_ugc.schedule.blocks import blocks, largest_live_set
from forge_ugc.schedule.check_order import check_order
from forge_ugc.schedule.dependencies import NOWHERE, Dependencies, dependencies
from forge_ugc.schedule.linear_scan import allocate
from forge_ugc.schedule.liveness import analyse
from forge_ugc.schedule.scheduler import (
    LIVE_GROWTH,
    WINDOWS,
    ScheduleStats,
    _best_order,
    count_transitions,
    schedule,
)

from .programs import programs


@given(programs(40))
@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_random_programs_keep_their_meaning_and_their_bounds(program: Program) -> None:
    scheduled, stats = schedule(program)
    check_order(program, scheduled)
    verify(scheduled)
    assert stats.transitions_before == count_transitions(program.instructions)
    assert stats.transitions_after == count_transitions(scheduled.instructions)
    assert stats.transitions_after <= stats.transitions_before
    before, after = (largest_live_set(blocks(p, analyse(p))) for p in (program, scheduled))
    assert after <= LIVE_GROWTH * before
    if stats.transitions_after == stats.transitions_before:
        assert scheduled == program
    assert schedule(program, affinity=False)[0] is program


def fewest_transitions(graph: Dependencies) -> int:
    """By trying every order, states with the same set of finished instructions together."""
    count = len(graph.waits)
    needs = [0] * count
    for earlier, followers in enumerate(graph.followers):
        for follower in followers:
            needs[follower] |= 1 << earlier

    @cache
    def rest(done: int, device: int) -> int:
        if done == (1 << count) - 1:
            return 0
        best = count
        for index in range(count):
            if done >> index & 1 or needs[index] & ~done:
                continue
            here = graph.device[index]
            if here == NOWHERE:
                return rest(done | 1 << index, device)
            step = device != NOWHERE and here != device
            best = min(best, step + rest(done | 1 << index, here))
        return best

    return rest(0, NOWHERE)


@given(programs(9))
@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_two_devices_get_the_fewest_transitions_possible(program: Program) -> None:
    graph = dependencies(program)
    assume(graph.devices == 2 and len(graph.waits) <= 14)
    order, after = _best_order(graph, None)
    assert after == fewest_transitions(graph)
    assert sorted(order) == list(range(len(order)))


def two_chains(length: int, size: int = 8) -> str:
    """Chains npu -> cpu, all joined at the end one after the other."""
    rows = []
    for i in range(length):
        a, b, c = 3 * i + 1, 3 * i + 2, 3 * i + 3
        kind = f"f32[4,{size}]"
        rows.append(f"%{a} = aten.exp.default(%0) : {kind} device(npu)")
        rows.append(f"%{b} = aten.sum.default(%{a}) : f32[] device(cpu)")
        total = c - 3 if i else b
        rows.append(f"%{c} = aten.add.Tensor(%{b}, %{total}) : f32[] device(cpu)")
    body = "\n  ".join(rows)
    return (
        f'npuir.program @p target(cpu) {{\n  input  %0 "x" : f32[4,{size}]\n  {body}\n'
        f"  output %{3 * length}\n}}\n"
    )


def test_instructions_of_one_device_come_together() -> None:
    program = parse_program(two_chains(2, size=1))
    scheduled, stats = schedule(program)
    assert [i.results[0].reg.id for i in scheduled.instructions] == [1, 4, 2, 3, 5, 6]
    assert stats == ScheduleStats(transitions_before=3, transitions_after=1, moved=3, window=None)


def test_overtaking_is_limited_where_memory_would_grow() -> None:
    program = parse_program(two_chains(600))
    scheduled, stats = schedule(program)
    check_order(program, scheduled)
    assert stats == ScheduleStats(transitions_before=1199, transitions_after=1199, moved=0)
    assert scheduled is program
    big = "%99999 = aten.repeat.default(%0) {repeats = [64, 1]} : f32[256,8] device(npu)\n  %1 ="
    tail = "%99998 = aten.sum.default(%99999) : f32[] device(cpu)\n  output %99998, "
    text = two_chains(600).replace("%1 =", big, 1).replace("output ", tail)
    program = parse_program(text)
    scheduled, stats = schedule(program)
    check_order(program, scheduled)
    assert stats.window in WINDOWS[1:]
    assert stats.transitions_after < stats.transitions_before / 4
    assert allocate(scheduled)[1].lower_bound_bytes <= (
        LIVE_GROWTH * allocate(program)[1].lower_bound_bytes
    )


def test_one_device_keeps_the_given_order() -> None:
    program = parse_program(two_chains(5).replace("npu)", "cpu)"))
    assert schedule(program) == (
        program,
        ScheduleStats(transitions_before=0, transitions_after=0, moved=0),
    )


def test_views_belong_to_no_device() -> None:
    text = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[4,8]
  %1 = aten.exp.default(%0) : f32[4,8] device(npu)
  %2 = aten.t.default(%1) : f32[8,4]{1,8} device(cpu) view(%1, 0 B)
  %3 = aten.exp.default(%2) : f32[8,4]{1,8} device(npu)
  output %3
}
"""
    assert schedule(parse_program(text))[1].transitions_before == 0


def test_of_three_devices_the_one_with_the_longest_run_comes_next() -> None:
    text = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[2]
  %1 = aten.exp.default(%0) : f32[2] device(cpu)
  %2 = aten.exp.default(%1) : f32[2] device(npu)
  %3 = aten.exp.default(%1) : f32[2] device(aie)
  %4 = aten.exp.default(%3) : f32[2] device(aie)
  %5 = aten.add.Tensor(%4, %2) : f32[2] device(npu)
  output %5
}
"""
    scheduled, stats = schedule(parse_program(text))
    assert [i.results[0].reg.id for i in scheduled.instructions] == [1, 3, 4, 2, 5]
    assert (stats.transitions_before, stats.transitions_after) == (3, 2)


@pytest.mark.parametrize("affinity", [True, False])
def test_a_new_order_drops_the_places(affinity: bool) -> None:
    program = parse_program(two_chains(2, size=1))
    placed, _ = allocate(program)
    scheduled, _ = schedule(placed, affinity)
    if affinity:
        assert scheduled == schedule(program)[0]
    else:
        assert scheduled is placed


def test_random_draws_and_effects_keep_their_order() -> None:
    text = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[2]
  input  %9 "ok" : bool[]
  %1 = aten.rand_like.default(%0) : f32[2] device(cpu)
  %2 = aten.rand_like.default(%0) : f32[2] device(npu)
  aten._assert_async.msg(%9) {assert_msg = "no"} device(cpu)
  %3 = aten.dropout.default(%0) {p = 0.5, train = true} : f32[2] device(npu)
  %4 = aten.dropout.default(%0) {p = 0.0, train = true} : f32[2] device(cpu)
  output %1, %2, %3, %4
}
"""
    program = parse_program(text)
    scheduled, stats = schedule(program)
    check_order(program, scheduled)
    ids = [i.results[0].reg.id if i.results else "assert" for i in scheduled.instructions]
    assert ids == [1, 4, 2, "assert", 3]
    assert stats.transitions_after == 3
