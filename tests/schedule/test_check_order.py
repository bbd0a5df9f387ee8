"""A corrupted schedule is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.program import Program
from forge_ugc.schedule.check_order import check_order

from .programs import programs

TEXT = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[2]
  input  %9 "ok" : bool[]
  %1 = aten.exp.default(%0) : f32[2] device(cpu)
  %2 = aten.detach.default(%1) : f32[2] view(%1, 0 B)
  %3 = aten.rand_like.default(%2) : f32[2] device(npu)
  %4 = aten.dropout.default(%2) {p = 0.5, train = true} : f32[2] device(cpu)
  aten._assert_async.msg(%9) {assert_msg = "no"} device(cpu)
  %5 = aten.exp.default(%0) : f32[2] device(cpu)
  output %3
}
"""
PROGRAM = parse_program(TEXT)


def order(*positions: int, program: Program = PROGRAM) -> Program:
    return replace(program, instructions=tuple(program.instructions[i] for i in positions))


def test_legal_orders_pass() -> None:
    check_order(PROGRAM, PROGRAM)
    check_order(PROGRAM, order(5, 0, 1, 2, 3, 4))


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ((0, 1, 2, 3, 4), "scheduling lost an instruction"),
        ((0, 1, 2, 3, 4, 5, 5), "scheduling added an instruction"),
        ((1, 0, 2, 3, 4, 5), "%1 is read before it is computed"),
        ((0, 2, 1, 3, 4, 5), "%2 is read before it is computed"),
        ((0, 1, 3, 2, 4, 5), "random draws or effects changed their order"),
        ((0, 1, 2, 4, 3, 5), "random draws or effects changed their order"),
    ],
)
def test_each_kind_of_fault_is_named(positions: tuple[int, ...], message: str) -> None:
    with pytest.raises(VerificationError) as caught:
        check_order(PROGRAM, order(*positions))
    assert message in str(caught.value)


def test_a_changed_instruction_or_declaration_is_refused() -> None:
    with pytest.raises(VerificationError, match="scheduling lost an instruction"):
        check_order(PROGRAM, parse_program(TEXT.replace("p = 0.5", "p = 0.25")))
    with pytest.raises(VerificationError, match="scheduling lost an instruction"):
        check_order(PROGRAM, parse_program(TEXT.replace("device(npu)", "device(cpu)")))
    with pytest.raises(VerificationError, match="changed the program's outputs"):
        check_order(PROGRAM, parse_program(TEXT.replace("output %3", "output %4")))


def test_nothing_passes_a_call_that_writes_to_an_operand() -> None:
    text = TEXT.replace(
        "aten.dropout.default(%2) {p = 0.5, train = true}", "aten.relu_.default(%2)"
    )
    program = parse_program(text)
    check_order(program, order(0, 1, 2, 3, 5, 4, program=program))
    with pytest.raises(VerificationError, match="passed one that writes"):
        check_order(program, order(5, 0, 1, 2, 3, 4, program=program))


@given(programs(12), st.data())
@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_an_instruction_moved_before_its_operands_is_refused(
    program: Program, data: st.DataObject
) -> None:
    made = {r.reg: n for n, i in enumerate(program.instructions) for r in i.results}
    pairs = [
        (made[r], n) for n, i in enumerate(program.instructions) for r in i.refs() if r in made
    ]
    assume(pairs)
    maker, reader = data.draw(st.sampled_from(pairs))
    positions = list(range(len(program.instructions)))
    positions.insert(maker, positions.pop(reader))
    with pytest.raises(VerificationError, match="before it is computed"):
        check_order(program, order(*positions, program=program))
