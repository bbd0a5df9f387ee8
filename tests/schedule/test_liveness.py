"""Live intervals of small programs, spelt out."""

from __future__ import annotations

from forge_ugc.npuir.instruction import Reg
from forge_ugc.npuir.parser import parse_program
from forge_ugc.schedule.liveness import Interval, analyse

PROGRAM = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[2,3]
  const  @w : f32[2,3]
  state  $s : f32[2,3]
  %1 = aten.relu.default(%0) : f32[2,3]
  %2 = aten.transpose.int(%1) {dim0 = 0, dim1 = 1} : f32[3,2]{1,3} view(%1, 0 B)
  %3 = aten.add.Tensor(%1, $s) : f32[2,3]
  %4 = aten.mul.Tensor(%3, @w) : f32[2,3]
  %5, %6 = aten.max.dim(%4) {dim = 0} : f32[3], i64[3]
  %7 = aten.neg.default(%2) : f32[3,2]{1,3}
  %8 = aten.slice.Tensor(%7) {start = 1} : f32[2,2]{1,3} view(%7, 4 B)
  store  $s, %4
  output %8, %0, %5
}
"""


def test_intervals_span_from_the_write_to_the_last_read_of_any_view() -> None:
    live = analyse(parse_program(PROGRAM))
    assert live.intervals == (
        Interval(reg=Reg(1), start=0, end=5, size_bytes=24),  # read through the view %2
        Interval(reg=Reg(3), start=2, end=3, size_bytes=24),
        Interval(reg=Reg(4), start=3, end=7, size_bytes=24),  # stored after the last instruction
        Interval(reg=Reg(6), start=4, end=4, size_bytes=24),  # never read
    )


def test_outputs_and_the_owners_of_output_views_leave_the_program() -> None:
    assert analyse(parse_program(PROGRAM)).external == {Reg(5), Reg(7)}


def test_a_strided_result_takes_its_span() -> None:
    text = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[2,3]
  %1 = aten.relu.default(%0) : f32[2,3]{8,2}
  output %0
}
"""
    (interval,) = analyse(parse_program(text)).intervals
    assert interval.size_bytes == (8 + 2 * 2 + 1) * 4
