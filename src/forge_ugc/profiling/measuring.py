"""Makes a profile out of recorded calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from forge_ugc import native
from forge_ugc.backends.recording import Recording
from forge_ugc.errors import OptionError
from forge_ugc.npuir.instruction import Instruction, Ref
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.cost import cost_of
from forge_ugc.ops.core.op import Cost
from forge_ugc.profiling import machine as machines
from forge_ugc.profiling.profile import (
    InstructionProfile,
    KernelProfile,
    Profile,
    Rates,
    Totals,
)

if TYPE_CHECKING:
    import torch

    from forge_ugc.backends import Executable
    from forge_ugc.profiling.machine import MachineProbe


def profile_executable(
    program: Program,
    executable: Executable,
    inputs: Sequence[torch.Tensor],
    states: Sequence[torch.Tensor],
    *,
    runs: int,
    warmups: int,
) -> Profile:
    """Call an executable again and again.

    Args:
        program: what it runs.
        inputs: of each call. Those that the program writes to are copied before.
        states: the program's; they get back the values that they had.
        runs: calls that count, after `warmups` that do not.

    Raises:
        OptionError: no runs, or the target keeps no times.
    """
    if runs < 1 or warmups < 0:
        raise OptionError(f"{runs} runs after {warmups} warm-ups, expected at least 1 after 0")
    stored = {s.target for s in program.stores}
    given = [
        tensor.clone() if declared.reg in stored else tensor
        for declared, tensor in zip(program.inputs, inputs, strict=True)
    ]
    saved = [state.clone() for state in states]
    try:
        for _ in range(warmups):
            executable.record(given)
        recordings = [executable.record(given) for _ in range(runs)]
    finally:
        for state, value in zip(states, saved, strict=True):
            state.copy_(value)
    machine = None if native.missing() else machines.probe(recordings[0].threads)
    return profile_of(program, recordings, machine)


def profile_of(
    program: Program, recordings: Sequence[Recording], machine: MachineProbe | None
) -> Profile:
    """The profile that recorded calls make."""
    half = (len(recordings) + 1) // 2
    kept = sorted(recordings, key=lambda r: r.ended - r.began)[:half]
    steps = _steps(program, kept, machine)
    return Profile(
        program=program, threads=kept[0].threads,
        wall_ns=tuple(r.ended - r.began for r in recordings), totals=_totals(kept),
        instructions=_by_instruction(program, steps), kernels=_by_kernel(steps), machine=machine,
        recording=kept[len(kept) // 2],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Timed:
    """A step of every call with its mean times."""

    instruction: Instruction
    kernel: str
    isa: str
    elapsed_ns: float
    busy_ns: float
    wait_ns: float


@dataclass(frozen=True, slots=True)
class _Step:
    """A step with the work that it is counted for, and the roofline's time for it."""

    timed: _Timed
    work: Cost
    least_ns: float | None


def _timed_steps(recordings: Sequence[Recording]) -> list[_Timed]:
    made = [
        _Timed(same[0].instruction, same[0].kernel, same[0].isa,
               fmean(k.elapsed_ns for k in same), fmean(k.busy_ns for k in same),
               fmean(k.wait_ns for k in same))
        for same in zip(*(r.kernels for r in recordings), strict=True)
    ]  # fmt: skip
    for steps in zip(*(r.host for r in recordings), strict=True):
        if not steps[0].instruction.is_view:
            took = fmean(h.ended - h.began for h in steps)
            made.append(_Timed(steps[0].instruction, "", "host", took, took, 0.0))
    return made


def _steps(
    program: Program, recordings: Sequence[Recording], machine: MachineProbe | None
) -> list[_Step]:
    types = program.types()
    timed = _timed_steps(recordings)
    leading: dict[int, _Timed] = {}  # an instruction's work counts for the longest of its steps
    for step in timed:
        longest = leading.setdefault(id(step.instruction), step)
        if step.elapsed_ns > longest.elapsed_ns:
            leading[id(step.instruction)] = step
    made = []
    for step in timed:
        leads = leading[id(step.instruction)] is step
        work = cost_of(step.instruction, types) if leads else Cost(0, 0)
        least = None
        if machine is not None:
            precision = precision_of(step.instruction, types)
            least = machine.least_ns(work.flops, work.bytes_moved, precision, native.isa_cap())
        made.append(_Step(step, work, least))
    return made


def precision_of(instruction: Instruction, types: Mapping[Ref, TensorType]) -> str:
    """The precision whose peak an instruction is held against: that of its first operand."""
    first = next((types[ref].dtype for ref in instruction.refs()), None)
    return {DType.BF16: "bf16", DType.I8: "i8"}.get(first, "f32") if first else "f32"


def _rates(steps: Sequence[_Step]) -> Rates:
    least = [step.least_ns for step in steps if step.least_ns is not None]
    return Rates(
        time_ns=sum(step.timed.elapsed_ns for step in steps),
        flops=sum(step.work.flops for step in steps),
        bytes_moved=sum(step.work.bytes_moved for step in steps),
        least_ns=sum(least) if least else None,
    )


def _by_instruction(program: Program, steps: Sequence[_Step]) -> tuple[InstructionProfile, ...]:
    types = program.types()
    index = {id(instruction): i for i, instruction in enumerate(program.instructions)}
    groups: dict[int, list[_Step]] = defaultdict(list)
    for step in steps:
        groups[id(step.timed.instruction)].append(step)
    made = []
    for key in sorted(groups, key=lambda k: index[k]):
        group = groups[key]
        instruction = group[0].timed.instruction
        made.append(
            InstructionProfile(
                index=index[key],
                opcode=instruction.opcode,
                text=described(instruction, types),
                location=str(instruction.location or ""),
                kernels=tuple(step.timed.kernel for step in group if step.timed.kernel),
                precision=precision_of(instruction, types),
                rates=_rates(group),
                busy_ns=sum(step.timed.busy_ns for step in group),
                wait_ns=sum(step.timed.wait_ns for step in group),
            )
        )
    return tuple(made)


def _by_kernel(steps: Sequence[_Step]) -> tuple[KernelProfile, ...]:
    groups: dict[tuple[str, str], list[_Step]] = defaultdict(list)
    for step in steps:
        groups[step.timed.kernel or step.timed.instruction.opcode, step.timed.isa].append(step)
    made = [
        KernelProfile(
            name=name, isa=isa, steps=len(group), rates=_rates(group),
            busy_ns=sum(s.timed.busy_ns for s in group),
            wait_ns=sum(s.timed.wait_ns for s in group),
        )
        for (name, isa), group in groups.items()
    ]  # fmt: skip
    return tuple(sorted(made, key=lambda k: -k.rates.time_ns))


def _totals(recordings: Sequence[Recording]) -> Totals:
    parts = []
    for r in recordings:
        kernels, waits = sum(k.busy_ns for k in r.kernels), sum(k.wait_ns for k in r.kernels)
        calls = sum(c.ended - c.began for c in r.calls)
        host = sum(h.ended - h.began for h in r.host if not h.instruction.is_view)
        wall = r.ended - r.began
        parts.append((wall, kernels, waits, calls - kernels - waits, host, wall - calls - host))
    means = [fmean(column) for column in zip(*parts, strict=True)]
    names = ("wall_ns", "kernels_ns", "barriers_ns", "calls_ns", "host_ns", "python_ns")
    return Totals(**dict(zip(names, means, strict=True)))


def described(instruction: Instruction, types: Mapping[Ref, TensorType]) -> str:
    """`f32[4,8] linear(f32[4,16], f32[8,16])`."""
    shown = ", ".join(str(types[ref]) for ref in instruction.refs())
    made = ", ".join(str(result.type) for result in instruction.results)
    return f"{made} {instruction.opcode}({shown})"
