"""Host execution: every instruction as a PyTorch operator on registers that lie in one arena."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import torch

from forge_ugc.backends.base import Executable
from forge_ugc.backends.host_steps import (
    REPLACED,
    Fetch,
    Step,
    Values,
    copy_step,
    fetcher,
    in_layout,
    out_step,
    out_variant,
    overlap,
    view_of,
)
from forge_ugc.backends.recording import HostRun, NativeCall, Recording
from forge_ugc.errors import InputError, InternalError
from forge_ugc.npuir.instruction import Const, External, Instruction, Ref, Reg, Result, Slot, State
from forge_ugc.npuir.program import Program
from forge_ugc.ops.core.schema import overload_of, unbind


@dataclass(slots=True)
class Frame:
    """The memory of one call: the arena, and the tensor of every register known beforehand."""

    arena: torch.Tensor
    values: Values


class Planned(NamedTuple):
    """A step of every call, and the instruction it belongs to; None for one of native kernels."""

    step: Step
    instruction: Instruction | None


class HostExecutable(Executable):
    """Runs a program through PyTorch. One call uses one frame; frames are reused, never shared."""

    def __init__(self, program: Program, tensors: Mapping[str, torch.Tensor]) -> None:
        if program.arena_bytes is None:
            raise InternalError("the program has no arena yet: allocate() comes before compile()")
        self._program = program
        self._types = program.types()
        self._roots = program.roots()
        self._fixed = self._bind_fixed(tensors)
        self._registers = 1 + max((r.id for r in self._types if isinstance(r, Reg)), default=-1)
        self._position = {d.reg: i for i, d in enumerate(program.inputs)}
        self._dynamic = set(self._position)
        self._dynamic |= {r.reg for r in program.results() if isinstance(r.place, External)}
        self.host_instructions: Counter[str] = Counter()
        self._planned = self.build_steps()
        self._steps = [planned.step for planned in self._planned]
        self._frames: deque[Frame] = deque()
        self._lock = threading.Lock() if program.states else None
        self._written = [self._position[s.target] for s in program.stores
                         if isinstance(s.target, Reg)]  # fmt: skip
        self._fixed_storages = {_storage(t) for t in self._fixed.values()} if self._written else ()
        self._volatile = [r.id for r in self._types if isinstance(r, Reg)
                          and self._roots[r].base in self._dynamic]  # fmt: skip

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return self._run_with(self._run_steps, inputs)

    def _run_with(
        self, run_steps: Callable[[Values], None], inputs: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        if self._written:
            self._refuse_overlap(inputs)
        if self._lock is None:
            return self._run(run_steps, inputs)
        with self._lock:
            return self._run(run_steps, inputs)

    def record(self, inputs: Sequence[torch.Tensor]) -> Recording:
        recorded: list[Recording] = []

        def run_timed(values: Values) -> None:
            recorded.append(self.run_timed(values))

        began = time.monotonic_ns()
        self._run_with(run_timed, inputs)
        ended = time.monotonic_ns()
        return replace(recorded[0], began=began, ended=ended)

    def run_timed(self, values: Values) -> Recording:
        """All steps of one call, each with its times."""
        host: list[HostRun] = []
        calls: list[NativeCall] = []
        for step, instruction in self._planned:
            began = time.monotonic_ns()
            step(values)
            ended = time.monotonic_ns()
            if instruction is None:
                calls.append(NativeCall(began=began, ended=ended))
            else:
                host.append(HostRun(instruction=instruction, began=began, ended=ended))
        return Recording(
            began=0, ended=0, threads=1, kernels=(), host=tuple(host), calls=tuple(calls)
        )

    def _run_steps(self, values: Values) -> None:
        for step in self._steps:
            step(values)

    def _run(
        self, run_steps: Callable[[Values], None], inputs: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        # Whatever mode the caller is in, default device included, the program runs as compiled.
        with (
            torch.inference_mode(False),
            torch.no_grad(),
            torch.autocast("cpu", enabled=False),
            torch._C.DisableTorchFunction(),
        ):
            try:
                frame = self._frames.pop()
            except IndexError:
                frame = self._new_frame()
            values = frame.values
            for declared, tensor in zip(self._program.inputs, inputs, strict=True):
                values[declared.reg.id] = in_layout(tensor, declared.type)
            run_steps(values)
            outputs = [self._output(values, inputs, ref) for ref in self._program.outputs]
            if self._program.stores:
                outputs = self._store(values, inputs, outputs)
        for reg in self._volatile:
            values[reg] = None
        self._frames.append(frame)
        return outputs

    def _store(
        self,
        values: Values,
        inputs: Sequence[torch.Tensor],
        outputs: list[torch.Tensor],
    ) -> list[torch.Tensor]:
        """Write states and inputs; what is read from one is copied first.

        Only an output that names an input stays that very tensor.
        """
        stores = self._program.stores
        targets = [
            self._fixed[s.target]
            if isinstance(s.target, State)
            else inputs[self._position[s.target]]
            for s in stores
        ]
        written = {_storage(t) for t in targets}

        def taken(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.clone() if _storage(tensor) in written else tensor

        outputs = [
            tensor if ref in self._position else taken(tensor)
            for ref, tensor in zip(self._program.outputs, outputs, strict=True)
        ]
        stored = [taken(self._read(values, s.value)) for s in stores]
        for target, value in zip(targets, stored, strict=True):
            # inference_mode(False) switches gradients on, even inside no_grad: hence detach.
            with torch.inference_mode(target.is_inference()):
                target.detach().copy_(value)
        return outputs

    def _output(self, values: Values, inputs: Sequence[torch.Tensor], ref: Ref) -> torch.Tensor:
        if isinstance(ref, Reg) and ref in self._position:
            return inputs[self._position[ref]]
        return self._read(values, ref)

    def _read(self, values: Values, ref: Ref) -> torch.Tensor:
        if isinstance(ref, Reg):
            return cast(torch.Tensor, values[ref.id])
        return self._fixed[ref]

    def _bind_fixed(self, tensors: Mapping[str, torch.Tensor]) -> dict[Ref, torch.Tensor]:
        fixed: dict[Ref, torch.Tensor] = {}
        for const in self._program.constants:
            if const.view is None:
                fixed[Const(const.name)] = tensors[const.name]
            else:
                root = self._roots[Const(const.name)]
                fixed[Const(const.name)] = view_of(fixed[root.base], root.offset_bytes, const.type)
        for state in self._program.states:
            fixed[State(state.name)] = tensors[state.name]
        return fixed

    def build_steps(self) -> list[Planned]:
        """The steps of all instructions in order."""
        return [planned for i in self._program.instructions for planned in self.plan(i)]

    def plan(self, instruction: Instruction) -> list[Planned]:
        """The steps of one instruction."""
        return [Planned(step, instruction) for step in self.steps(instruction)]

    def _new_frame(self) -> Frame:
        return self.new_frame(torch.empty(self._program.arena_bytes or 0, dtype=torch.uint8))

    def new_frame(self, arena: torch.Tensor) -> Frame:
        """A frame on that arena."""
        values: Values = [None] * self._registers
        for result in self._program.results():
            if isinstance(result.place, Slot):
                values[result.reg.id] = view_of(arena, result.place.offset_bytes, result.type)
            elif result.view is not None:
                root = self._roots[result.reg]
                if root.base not in self._dynamic:
                    base = self._read(values, root.base)
                    values[result.reg.id] = view_of(base, root.offset_bytes, result.type)
        return Frame(arena, values)

    def steps(self, instruction: Instruction) -> list[Step]:
        """What one instruction does in each call. A target overrides this for its own kernels.

        A step is called with the values of all registers by number. It reads its operands through
        `operands_of`, and writes each result into what `host_steps.destination` returns.
        """
        if instruction.is_view:
            return [
                self._view_step(r)
                for r in instruction.results
                if self._roots[r.reg].base in self._dynamic
            ]
        self.host_instructions[instruction.opcode] += 1
        overload = overload_of(instruction.opcode)
        call = REPLACED.get(overload, overload)
        args, kwargs = unbind(overload, instruction.operands, instruction.attributes)
        into = out_variant(overload) if len(instruction.results) == 1 else None
        fetch, fetch_named = fetcher(args, self._fixed), fetcher(kwargs, self._fixed)
        results = instruction.results
        if into is not None and call is overload:
            return [out_step(into, fetch, fetch_named, results[0])]
        return [copy_step(call, fetch, fetch_named, results)]

    def operands_of(self, instruction: Instruction) -> Fetch:
        """A function that lists the instruction's operands in a call: tensors, numbers, None."""
        operands = [list(o) if isinstance(o, tuple) else o for o in instruction.operands]
        return fetcher(operands, self._fixed)

    def _view_step(self, result: Result) -> Step:
        root = self._roots[result.reg]
        base, offset = cast(Reg, root.base).id, root.offset_bytes
        reg, kind = result.reg.id, result.type

        def run(values: Values) -> None:
            values[reg] = view_of(cast(torch.Tensor, values[base]), offset, kind)

        return run

    def _refuse_overlap(self, inputs: Sequence[torch.Tensor]) -> None:
        for i in self._written:
            name = self._program.inputs[i].name
            if _storage(inputs[i]) in self._fixed_storages:
                raise InputError(
                    f"input {name!r} shares memory with a constant of the program, which writes it",
                    fix="pass a copy",
                )
            for j, other in enumerate(inputs):
                if i != j and overlap(inputs[i], other):
                    raise InputError(
                        f"inputs {name!r} and {self._program.inputs[j].name!r} share memory (they "
                        f"alias), and the program writes to {name!r} in place",
                        fix="pass copies, or compile a model that does not write to its inputs",
                    )


def _storage(tensor: torch.Tensor) -> int:
    """The identity of a tensor's memory, for as long as the tensor lives."""
    return int(tensor.untyped_storage()._cdata)
