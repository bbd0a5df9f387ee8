"""Programs run in arena memory give the interpreter's bits."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import HealthCheck, given, settings

from forge_ugc.npuir.program import Program
from forge_ugc.ops.core.inplace import ATEN
from forge_ugc.ops.core.interpreter import interpret
from forge_ugc.ops.core.schema import holds_tensors, overload_of, parameters
from forge_ugc.schedule.linear_scan import allocate
from forge_ugc.schedule.scheduler import schedule

from .arena import Arena, out_form_of, same_bits
from .programs import programs, tensors_for

TOO_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@given(programs())
@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=TOO_SLOW)
def test_scheduled_and_allocated_programs_give_the_interpreters_bits(program: Program) -> None:
    named, inputs = tensors_for(program)
    runs = []
    for run in ("interpreter", "scheduled", "arena"):
        my_named, my_inputs = copy.deepcopy((named, inputs))
        torch.manual_seed(1)
        if run == "interpreter":
            outputs = interpret(program, my_named, my_inputs)
        elif run == "scheduled":
            outputs = interpret(schedule(program)[0], my_named, my_inputs)
        else:
            placed, _ = allocate(schedule(program)[0])
            outputs = Arena(placed, my_named, my_inputs).run()
        runs.append([*outputs, *my_inputs, *(my_named[n] for n in sorted(named))])
    for tensors in runs[1:]:
        assert len(tensors) == len(runs[0])
        assert all(map(same_bits, tensors, runs[0]))


@pytest.mark.parametrize("opcode", sorted(ATEN))
def test_operators_that_may_work_in_place_do_so_bit_for_bit(opcode: str) -> None:
    overload = overload_of(opcode)
    assert torch.Tag.pointwise in overload.tags
    kinds = {name: kind for name, kind, _, _ in parameters(overload)}
    integer = "bitwise" in opcode
    truth = "logical" in opcode or any(
        f".{n}." in opcode for n in ("eq", "ge", "gt", "le", "lt", "ne")
    )
    for place in ATEN[opcode]:
        torch.manual_seed(0)
        call = {}
        for name, kind in kinds.items():
            if name == "condition" or name == "mask" or (truth and holds_tensors(kind)):
                call[name] = torch.rand(7, 33) > 0.5
            elif holds_tensors(kind) and kind != "Optional[Tensor]":
                call[name] = torch.randint(1, 9, (7, 33)) if integer else torch.rand(7, 33) + 0.5
            elif name in ("other", "exponent", "value", "min", "max"):
                call[name] = 1 if truth or integer else 0.75
            elif name == "rounding_mode":
                call[name] = "floor"
        want = overload(**call)
        if call[place].dtype != want.dtype:
            assert (opcode, place) == ("aten.where.self", "condition")
            call |= {"self": torch.rand(7, 33) > 0.5, "other": torch.rand(7, 33) > 0.5}
            want = overload(**call)
        out_form = out_form_of(opcode)
        assert out_form is not None
        got = out_form(**call, out=call[place])
        assert got is call[place]
        assert same_bits(got, want)
