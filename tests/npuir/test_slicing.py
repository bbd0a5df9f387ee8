"""The part of a program that computes one register."""

from forge_ugc.npuir.instruction import Reg
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.slicing import upto

PROGRAM = """npuir.program @p target(aie) {
  input  %0 "x" : i8[4,8]
  const  @a : i8[8,8]
  const  @b : i8[8,8]
  %1 = int8_linear(%0, @a) {multiplier = 1, shift = 9} : i8[4,8]
  %2 = int8_linear(%0, @b) {multiplier = 1, shift = 9} : i8[4,8]
  %3 = int8_add(%1, %2) {multiplier_a = 1, multiplier_b = 1, shift = 1} : i8[4,8]
  output %3
}
"""


def test_what_a_register_depends_on():
    part, tensors = upto(parse_program(PROGRAM), {"a": 1, "b": 2}, Reg(2))
    assert tensors == {"b": 2}
    assert (
        print_program(part)
        == """npuir.program @p target(aie) {
  input  %0 "x" : i8[4,8]
  const  @b : i8[8,8]
  %2 = int8_linear(%0, @b) {multiplier = 1, shift = 9} : i8[4,8]
  output %2
}
"""
    )


def test_all_of_it():
    program = parse_program(PROGRAM)
    assert upto(program, {"a": 1, "b": 2}, Reg(3)) == (program, {"a": 1, "b": 2})
