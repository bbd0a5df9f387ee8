"""Runs a program on the native engine, with PyTorch for instructions that have no kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import torch

from forge_ugc import _native
from forge_ugc.backends.base import Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.lowering import find_lowering
from forge_ugc.backends.host import Frame, HostExecutable, Planned
from forge_ugc.backends.host_steps import Values, view_of
from forge_ugc.backends.recording import KernelRun, Recording, Visit
from forge_ugc.errors import InputError
from forge_ugc.npuir.instruction import Const, External, Instruction, Ref, Result
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.postponed import LateTensors, Postponed
from forge_ugc.ops.core.torch_types import empty

_RECYCLED_BYTES = 1 << 20
"""Outputs from here on are memory used again: fresh memory costs a page fault each 4 KiB."""


class NativeExecutable(HostExecutable):
    """Runs of instructions with kernels are segments of one native program.

    A segment is one call, during which all threads walk the steps together.
    """

    def __init__(
        self,
        program: Program,
        tensors: dict[str, torch.Tensor],
        *,
        threads: int,
        pin_threads: bool = False,
    ) -> None:
        self._native = _native.Program(threads, pin_threads)
        # An output that the caller still holds is not given back; one more is on its way out.
        self._recycler = _native.Recycler(2 * max(1, len(program.outputs)))
        self.released: dict[str, Callable[[], torch.Tensor]] = {}
        self._owned = tensors
        self._postponed = tensors.postponed if isinstance(tensors, LateTensors) else Postponed()
        super().__init__(program, tensors)
        self._owned = {}

    @property
    def native_program(self) -> _native.Program:
        """The kernels with their arguments."""
        return self._native

    def _bind_fixed(self, tensors: Mapping[str, torch.Tensor]) -> dict[Ref, torch.Tensor]:
        """Weights whose packed form alone is kept are not made before they are packed."""
        if isinstance(tensors, LateTensors):
            tensors = tensors.made_but({const.name for const in self._last_packing()})
        return super()._bind_fixed(tensors)

    def build_steps(self) -> list[Planned]:
        """Emits all kernels; each weight is dropped once the last instruction has packed it."""
        places = {r.reg: r.place for r in self._program.results()}
        self._emitter = Emitter(self._native, self._types, self._roots, places, self._fixed)
        needed = self._needed_by_host()
        last = self._last_packing()
        self._emitter.packed_tables = set(last)
        self._emitter.postponed = self._postponed
        built: list[Planned] = []
        views: list[Planned] = []
        begin = 0
        produced: list[Result] = []
        for instruction in self._program.instructions:
            if instruction.is_view:
                if any(r.reg in needed for r in instruction.results):
                    views += self.plan(instruction)
            elif self._has_kernel(instruction):
                self._emitter.start(instruction)
                lowering = find_lowering(instruction.opcode)
                assert lowering is not None  # noqa: S101 - _has_kernel found it
                lowering.emit(instruction, self._emitter)
                # Whichever reads a weight last, a product or a look-up of rows.
                for const in dict.fromkeys(instruction.refs()):
                    if isinstance(const, Const) and last.get(const) is instruction:
                        self._release(const)
                produced += [r for r in instruction.results if isinstance(r.place, External)]
            else:
                built += [*self._segment(begin, produced), *views, *self.plan(instruction)]
                begin, produced, views = len(self._native), [], []
        return [*built, *self._segment(begin, produced), *views]

    def _has_kernel(self, instruction: Instruction) -> bool:
        found = find_lowering(instruction.opcode)
        return found is not None and isinstance(found.supports(instruction, self._types), Yes)

    def _needed_by_host(self) -> set[Ref]:
        """What PyTorch reads as a tensor: operands of host instructions, outputs, stores."""
        needed: set[Ref] = {*self._program.outputs, *(s.value for s in self._program.stores)}
        for instruction in self._program.instructions:
            if not instruction.is_view and not self._has_kernel(instruction):
                needed.update(instruction.refs())
        return needed

    def _last_packing(self) -> dict[Const, Instruction]:
        """For every constant that is packed and read by nothing else: who packs it last."""
        last: dict[Const, Instruction] = {}
        read: set[Ref] = {self._roots[r].base for r in self._program.outputs}
        read |= {self._roots[s.value].base for s in self._program.stores}
        read |= {self._roots[Const(c.name)].base for c in self._program.constants if c.view}
        for instruction in self._program.instructions:
            packed: tuple[Const, ...] = ()
            tables: tuple[Const, ...] = ()
            found = find_lowering(instruction.opcode)
            if found is not None and self._has_kernel(instruction):
                packed = found.packed_constants(instruction)
                tables = found.table_constants(instruction, self._types)
            last.update(dict.fromkeys(packed, instruction))
            last.update((t, instruction) for t in tables if t in last)
            others = Counter(instruction.refs())
            others.subtract(packed)
            others.subtract(tables)
            read |= {self._roots[ref].base for ref, count in others.items() if count > 0}
        return {const: i for const, i in last.items() if const not in read}

    def _release(self, const: Const) -> None:
        """Drop a weight that lives on in packed form only."""
        kind, packer = self._types[const], self._emitter.packer
        packed = self._emitter.pack(const, kind.dtype)
        packer.forget(self._fixed.pop(const))

        def restore() -> torch.Tensor:
            values = packer.unpack(packed, cast("tuple[int, int]", kind.shape), kind.dtype)
            return values if kind.is_contiguous else empty(kind).copy_(values)

        self.released[const.name] = restore
        self._owned.pop(const.name, None)

    def _segment(self, begin: int, produced: Sequence[Result]) -> list[Planned]:
        """The call of the steps from `begin` on."""
        end = len(self._native)
        externals = sorted(reg.id for reg in self._emitter.externals)
        self._emitter.synchronised()
        if begin == end:
            return []
        program, native = self._native, self._registers

        def run(values: Values) -> None:
            for result in produced:
                values[result.reg.id] = self._fresh(result.type)
            frame, times = values[native], values[native + 1]
            bound = [(reg, values[reg].data_ptr()) for reg in externals]  # type: ignore[union-attr]
            part = None if times is None else times[begin:end]
            status = frame.run(begin, end, program, bound, part)  # type: ignore[union-attr]
            if status != 0:
                raise self._reported(status)

        return [Planned(run, None)]

    def run_timed(self, values: Values) -> Recording:
        times = torch.zeros(len(self._native), self._native.threads, 3, dtype=torch.int64)
        values[self._registers + 1] = times
        try:
            recorded = super().run_timed(values)
        finally:
            values[self._registers + 1] = None
        kernels = tuple(
            KernelRun(
                instruction=instruction, kernel=kernel, isa=isa,
                visits=tuple(Visit(*visit) for visit in by_thread),
            )
            for instruction, (kernel, isa), by_thread in zip(
                self._emitter.instructions, self._native.kernels(), times.tolist(), strict=True
            )
        )  # fmt: skip
        return replace(recorded, threads=self._native.threads, kernels=kernels)

    def _reported(self, status: int) -> InputError:
        """The error of a kernel that found an index out of range in the data."""
        instruction = self._emitter.instructions[status - 1]
        return InputError(
            f"{instruction.opcode} met an index that is out of range",
            where=str(instruction.location) if instruction.location else "",
        )

    def _fresh(self, kind: TensorType) -> torch.Tensor:
        if kind.size_bytes < _RECYCLED_BYTES:
            return empty(kind)
        return view_of(self._recycler.take(kind.size_bytes), 0, kind)

    def _new_frame(self) -> Frame:
        arena = _native.allocate(max(self._program.arena_bytes or 0, 64))
        frame = self.new_frame(arena)
        native = _native.Frame(self._native, arena.data_ptr())
        frame.values += [native, None]  # type: ignore[list-item]
        return frame
