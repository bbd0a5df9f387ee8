"""Which results share memory in place."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from forge_ugc.npuir.instruction import Reg
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.program import Program
from forge_ugc.schedule.blocks import apart, blocks, largest_live_set
from forge_ugc.schedule.liveness import analyse

from .programs import programs


def chains(body: str, tail: str = "output %0") -> list[list[int]]:
    text = f"""npuir.program @p target(cpu) {{
  input  %0 "x" : f32[4,8]
  const  @w : f32[8]
  state  $s : f32[4,8]
  %1 = aten.mm.default(%0, %0) : f32[4,8]
  {body}
  {tail}
}}
"""
    program = parse_program(text)
    return [[r.id for r in b.regs] for b in blocks(program, analyse(program))]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%2 = aten.relu.default(%1) : f32[4,8]", [[1, 2]]),
        ("%2 = aten.add.Tensor(%0, %1) : f32[4,8]", [[1, 2]]),
        ("%2 = aten.mul.Tensor(%1, %1) : f32[4,8]", [[1, 2]]),
        ("%2 = rms_norm(%1, @w) : f32[4,8]", [[1, 2]]),
        # Another operator, dtype, shape or layout.
        ("%2 = aten.softmax.int(%1) {dim = -1} : f32[4,8]", [[1], [2]]),
        ("%2 = aten.gt.Scalar(%1) {other = 0} : bool[4,8]", [[1], [2]]),
        ("%2 = aten.add.Tensor(%1, %0) : f32[2,4,8]", [[1], [2]]),
        ("%2 = aten.relu.default(%1) : f32[4,8]{1,4}", [[1], [2]]),
        # rms_norm reads its weight again for every row.
        ("%2 = aten.sin.default(@w) : f32[8]\n %3 = rms_norm(@w, %2) : f32[8]", [[1], [2], [3]]),
        # Inputs, states and constants are the caller's.
        ("%2 = aten.relu.default($s) : f32[4,8]", [[1], [2]]),
        # The operand is read again later.
        ("%2 = aten.sin.default(%1) : f32[4,8]\n  %3 = aten.neg.default(%1) : f32[4,8]",
         [[1, 3], [2]]),
    ],
)  # fmt: skip
def test_which_results_take_an_operand_over(body: str, expected: list[list[int]]) -> None:
    assert chains(body) == expected


def test_a_view_lends_its_owner_only_from_the_first_byte_and_in_full() -> None:
    whole = "%2 = aten.view.default(%1) {size = [32]} : f32[32] view(%1, 0 B)\n"
    half = "%2 = aten.slice.Tensor(%1) {end = 2} : f32[2,8] view(%1, 0 B)\n"
    late = "%2 = aten.slice.Tensor(%1) {start = 2} : f32[2,8] view(%1, 64 B)\n"
    assert chains(whole + "  %3 = aten.relu.default(%2) : f32[32]") == [[1, 3]]
    assert chains(half + "  %3 = aten.relu.default(%2) : f32[2,8]") == [[1], [3]]
    assert chains(late + "  %3 = aten.relu.default(%2) : f32[2,8]") == [[1], [3]]
    # 31 of 32 elements need as many aligned bytes as all 32, but lie elsewhere.
    shifted = whole + "  %3 = aten.slice.Tensor(%2) {start = 1} : f32[31] view(%2, 4 B)\n"
    assert chains(shifted + "  %4 = aten.relu.default(%3) : f32[31]") == [[1], [4]]


def test_an_operand_that_is_also_read_through_a_view_is_kept() -> None:
    turned = "%2 = aten.t.default(%1) : f32[8,4]{1,8} view(%1, 0 B)\n"
    square = "%2 = aten.detach.default(%1) : f32[4,8] view(%1, 0 B)\n"
    assert chains(turned + "  %3 = aten.cat.default([%1, %1]) : f32[8,8]") == [[1], [3]]
    assert chains(square + "  %3 = aten.add.Tensor(%1, %2) : f32[4,8]") == [[1], [3]]


def test_outputs_and_stored_values_are_never_taken_over() -> None:
    relu = "%2 = aten.relu.default(%1) : f32[4,8]"
    assert chains(relu, "output %1") == [[2]]
    assert chains(relu, "output %2") == [[1]]
    assert chains(relu, "store  $s, %1\n  output %0") == [[1], [2]]
    assert chains(relu, "store  $s, %2\n  output %0") == [[1, 2]]


def test_the_largest_live_set_counts_memory_taken_over_once() -> None:
    text = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[4,8]
  %1 = aten.mm.default(%0, %0) : f32[4,8]
  %2 = aten.relu.default(%1) : f32[4,8]
  %3 = aten.sum.default(%2) : f32[]
  %4 = aten.add.Tensor(%2, %3) : f32[4,8]
  %5 = aten.softmax.int(%4) {dim = -1} : f32[4,8]
  output %5
}
"""
    program = parse_program(text)
    found = blocks(program, analyse(program))
    assert [b.regs for b in found] == [[Reg(1), Reg(2), Reg(4)], [Reg(3)]]
    assert largest_live_set(found) == 128 + 64


@given(programs(40))
@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_blocks_apart_need_no_more_at_any_time(program: Program) -> None:
    live = analyse(program)
    found = blocks(program, live)
    pieces = apart(found, live, largest_live_set(found))
    assert largest_live_set(pieces) == largest_live_set(found)
    assert sorted(r for p in pieces for r in p.regs) == sorted(r for b in found for r in b.regs)
    spans = {i.reg: (i.start, i.end) for i in live.intervals}
    for piece in pieces:
        assert (piece.start, piece.end) == (spans[piece.regs[0]][0], spans[piece.regs[-1]][1])


def test_a_chain_is_cut_where_both_ends_fit() -> None:
    text = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[4,8]
  %1 = aten.mm.default(%0, %0) : f32[4,8]
  %2 = aten.relu.default(%1) : f32[4,8]
  %3 = aten.softmax.int(%2) {dim = -1} : f32[4,8]
  %4 = aten.add.Tensor(%2, %3) : f32[4,8]
  output %0
}
"""
    program = parse_program(text)
    live = analyse(program)
    found = blocks(program, live)
    assert [[r.id for r in b.regs] for b in found] == [[1, 2, 4], [3]]
    pieces = apart(found, live, largest_live_set(found))
    assert [[r.id for r in p.regs] for p in pieces] == [[1], [2, 4], [3]]
