"""A corrupted allocation is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.instruction import External, Result, Slot
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.program import Program
from forge_ugc.schedule.check_buffers import check_buffers
from forge_ugc.schedule.linear_scan import allocate

from .arena import Arena, same_bits
from .programs import programs, tensors_for

TEXT = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[4,8]
  %1 = aten.repeat.default(%0) {repeats = [1, 1]} : f32[4,8]
  %2 = aten.softmax.int(%1) {dim = -1} : f32[4,8]
  %3 = aten.add.Tensor(%1, %2) : f32[4,8]
  %4 = aten.t.default(%3) : f32[8,4]{1,8} view(%3, 0 B)
  %5 = aten.sum.default(%4) : f32[]
  output %5
}
"""


def changed(program: Program, reg: int, change: Callable[[Result], Result]) -> Program:
    instructions = tuple(
        i.with_results(tuple(change(r) if r.reg.id == reg else r for r in i.results))
        for i in program.instructions
    )
    return replace(program, instructions=instructions)


def at(place: Slot | External | None) -> Callable[[Result], Result]:
    return lambda result: replace(result, place=place)


@pytest.mark.parametrize(
    ("reg", "place", "message"),
    [
        (2, Slot(0, 0, 128), "%2 overwrites %1, which is still needed"),
        (2, Slot(0, 64, 128), "%2 overwrites %1, which is still needed"),
        (3, Slot(0, 64, 128), "%3 overwrites %1, which is still needed"),
        (3, Slot(0, 32, 128), "%3 of aten.add.Tensor cannot have the place"),
        (3, Slot(0, -64, 128), "%3 of aten.add.Tensor cannot have the place"),
        (3, Slot(0, 192, 128), "%3 of aten.add.Tensor cannot have the place"),
        (3, Slot(0, 0, 64), "%3 of aten.add.Tensor cannot have the place"),
        (3, None, "%3 of aten.add.Tensor cannot have the place None"),
        (3, External(), "%3 of aten.add.Tensor cannot have the place External()"),
        (4, Slot(0, 0, 128), "%4 of aten.t.default cannot have the place"),
        (5, Slot(0, 0, 4), "%5 of aten.sum.default cannot have the place"),
    ],
)
def test_each_kind_of_fault_is_named(reg: int, place: Slot | None, message: str) -> None:
    placed, _ = allocate(parse_program(TEXT))
    check_buffers(placed)
    with pytest.raises(VerificationError) as caught:
        check_buffers(changed(placed, reg, at(place)))
    assert message in str(caught.value)


def test_an_arena_is_required() -> None:
    with pytest.raises(VerificationError, match="arena of None bytes"):
        check_buffers(parse_program(TEXT))


def test_an_operand_in_a_list_may_be_overwritten() -> None:
    program = parse_program("""npuir.program @p target(cpu) {
  input  %0 "x" : f32[4,8]
  %1 = aten.repeat.default(%0) {repeats = [1, 1]} : f32[4,8]
  %2 = elementwise([%0, %1]) {code = "add(a, neg(b))"} : f32[4,8]
  %3 = aten.sum.default(%2) : f32[]
  output %3
}
""")
    allocated, _ = allocate(program)
    check_buffers(allocated)
    assert allocated.instructions[0].results[0].place == allocated.instructions[1].results[0].place


def test_in_place_needs_an_operator_that_reads_in_order() -> None:
    placed, _ = allocate(parse_program(TEXT))
    # The same memory for %1 and %3 is right for an addition and wrong for a matrix product.
    text = TEXT.replace("aten.add.Tensor", "aten.mm.default")
    places = {r.reg: r.place for r in placed.results()}
    wrong = parse_program(text)
    for reg, place in places.items():
        wrong = changed(wrong, reg.id, at(place))
    with pytest.raises(VerificationError, match=r"%3 overwrites %[12], which is still needed"):
        check_buffers(replace(wrong, arena_bytes=placed.arena_bytes))


@given(programs(16), st.data())
@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_a_moved_slot_is_refused_or_harmless(program: Program, data: st.DataObject) -> None:
    """Moving one slot anywhere in the arena: what the checker lets pass computes the same bits."""
    placed, stats = allocate(program)
    slots = [r for r in placed.results() if isinstance(r.place, Slot) and r.place.size_bytes]
    assume(slots and stats.peak_bytes >= 128)
    victim = data.draw(st.sampled_from(slots))
    offset = 64 * data.draw(st.integers(0, stats.peak_bytes // 64 - 1))
    assert isinstance(victim.place, Slot)
    moved = changed(placed, victim.reg.id, at(replace(victim.place, offset_bytes=offset)))
    try:
        check_buffers(moved)
    except VerificationError:
        return
    outputs = []
    for each in (placed, moved):
        named, inputs = tensors_for(each)
        torch.manual_seed(0)
        outputs.append([*Arena(each, named, inputs).run(), *inputs, *named.values()])
    assert all(map(same_bits, *outputs))
