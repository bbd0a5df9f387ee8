"""Random programs on the host executor give the interpreter's bits, and so do their stores."""

from __future__ import annotations

import copy

import torch
from hypothesis import HealthCheck, given, settings

from forge_ugc.backends.host import HostExecutable
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.program import Program
from forge_ugc.ops.core.interpreter import interpret
from forge_ugc.schedule.linear_scan import allocate
from forge_ugc.schedule.scheduler import schedule

from ..schedule.arena import same_bits
from ..schedule.programs import programs, tensors_for


@given(programs(16))
@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_random_programs_give_the_interpreters_bits(program: Program) -> None:
    placed, _ = allocate(schedule(program)[0])
    runs = []
    for host in (False, True):
        named, inputs = copy.deepcopy(tensors_for(program))
        torch.manual_seed(1)
        if host:
            outputs = HostExecutable(placed, named).run(inputs)
        else:
            outputs = interpret(program, named, inputs)
        runs.append([*outputs, *inputs, *(named[n] for n in sorted(named))])
    assert all(map(same_bits, *runs))


def test_states_swapped_through_views_and_returned() -> None:
    text = """npuir.program @p target(cpu) {
  state  $s : f32[2]
  state  $t : f32[2]
  %1 = aten.detach.default($s) : f32[2] view($s, 0 B)
  store  $s, $t
  store  $t, %1
  output $s, %1
}
"""
    placed, _ = allocate(parse_program(text))
    named = {"s": torch.tensor([1.0, 2.0]), "t": torch.tensor([3.0, 4.0])}
    outputs = HostExecutable(placed, named).run([])
    assert [o.tolist() for o in outputs] == [[1.0, 2.0], [1.0, 2.0]]
    assert {n: t.tolist() for n, t in named.items()} == {"s": [3.0, 4.0], "t": [1.0, 2.0]}
