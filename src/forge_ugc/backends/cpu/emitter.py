"""Builds a native program: addresses of operands, and barriers where data crosses threads."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import torch

from forge_ugc import _native
from forge_ugc.backends.cpu.packing import Packed, Packer
from forge_ugc.errors import InternalError
from forge_ugc.npuir.instruction import (
    Const,
    External,
    Instruction,
    Ref,
    Reg,
    Result,
    Slot,
    State,
    ViewOf,
)
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.postponed import Postponed


class Space(enum.IntEnum):
    """The memory that an address lies in; numbers as in csrc/runtime/program.h."""

    ARENA = 0
    EXTERNAL = 1
    SCRATCH = 2
    STATUS = 3


class Address(NamedTuple):
    """`offset` bytes into memory number `memory` of a space, known once a frame or a call is."""

    space: int
    memory: int
    offset: int


Field = Ref | Result | Address | Packed | torch.Tensor | float | int | None
"""A value of a kernel's argument. A register, constant or tensor stands for its address."""


@dataclass(slots=True)
class _Touched:
    """Byte ranges by memory that steps since the last barrier have read or written."""

    ranges: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, memory: tuple[int, int], begin: int, end: int) -> None:
        self.ranges.setdefault(memory, []).append((begin, end))

    def meets(self, memory: tuple[int, int], begin: int, end: int) -> bool:
        return any(b < end and begin < e for b, e in self.ranges.get(memory, ()))


class Emitter:
    """Appends steps to one native program.

    Attributes:
        program: what has been built.
        packer: packs weights, each one once.
        postponed: conversions of weights, made when the weight is packed.
        packed_tables: constants of which the packed form alone is kept, and rows are looked up.
        instructions: the instruction that each step belongs to.
    """

    def __init__(
        self,
        program: _native.Program,
        types: Mapping[Ref, TensorType],
        roots: Mapping[Ref, ViewOf],
        places: Mapping[Reg, Slot | External | None],
        fixed: Mapping[Ref, torch.Tensor],
    ) -> None:
        self.program, self.types = program, types
        self.packer = Packer(program.threads)
        self.instructions: list[Instruction] = []
        self.externals: set[Reg] = set()
        self.postponed = Postponed()
        self._late: dict[Const, Packed] = {}
        self.packed_tables: set[Const] = set()
        self._roots, self._places, self._fixed = roots, places, fixed
        self._current: Instruction | None = None
        self._read, self._written = _Touched(), _Touched()
        self._kept: list[torch.Tensor] = []

    def start(self, instruction: Instruction) -> None:
        """The steps that follow belong to this instruction."""
        self._current = instruction

    def synchronised(self) -> None:
        """All threads have finished what was emitted: a host instruction comes between."""
        self._read, self._written = _Touched(), _Touched()
        self.externals = set()

    def tensor(self, ref: Const | State) -> torch.Tensor:
        """The tensor of a constant or state."""
        return self._fixed[ref]

    def pack(self, const: Const, form: DType) -> Packed:
        """A weight in the layout that kernels stream; made now if its conversion was postponed."""
        if const in self._late:
            return self._late[const]
        conversion = self.postponed.take(self._fixed[const])
        if conversion is None:
            return self.packer.pack(self._fixed[const], form)
        wider = conversion.rounded_from
        made = conversion.make() if wider is None else wider
        self._late[const] = self.packer.pack(made, form)
        self.packer.forget(made)
        return self._late[const]

    def keep(self, tensor: torch.Tensor) -> Packed:
        """Memory that lives as long as the program and is never written by it."""
        self._kept.append(tensor)
        return Packed(tensor.data_ptr())

    def step(self, kernel: str, /, **fields: Field | Sequence[Field]) -> None:
        """Append one kernel with its arguments by name, see its `args.h`.

        A barrier goes before it if it reads what a step since the last barrier wrote, or writes
        what one read or wrote: threads share out every step differently. `scratch`, `status` and
        `step` are filled in.
        """
        if self._current is None:
            raise InternalError("a step belongs to no instruction: start() comes before step()")
        kinds = _kinds(kernel)
        reads: list[tuple[tuple[int, int], int, int]] = []
        writes: list[tuple[tuple[int, int], int, int]] = []
        values: dict[str, object] = {}
        for name, value in fields.items():
            touched = writes if kinds.get(name) == "output" else reads
            if isinstance(value, list | tuple) and not isinstance(value, Address | Packed):
                values[name] = [self._value(item, touched) for item in value]
            else:
                values[name] = self._value(value, touched)  # type: ignore[arg-type]
        if "scratch" in kinds:
            values["scratch"] = Address(Space.SCRATCH, 0, 0)
            writes.append(((Space.SCRATCH, 0), 0, 1))
        if "status" in kinds:
            values["status"] = Address(Space.STATUS, 0, 0)
            values["step"] = len(self.instructions) + 1
        barrier = any(self._written.meets(*r) for r in reads) or any(
            self._written.meets(*w) or self._read.meets(*w) for w in writes
        )
        if barrier:
            self._read, self._written = _Touched(), _Touched()
        for r in reads:
            self._read.add(*r)
        for w in writes:
            self._written.add(*w)
        self.program.add(kernel, values, barrier)
        self.instructions.append(self._current)

    def _value(self, value: Field, touched: list[tuple[tuple[int, int], int, int]]) -> object:
        if isinstance(value, Result):
            value = value.reg
        if isinstance(value, Packed):
            return value.address
        if isinstance(value, torch.Tensor):
            return self.keep(value).address
        if not isinstance(value, Reg | Const | State):
            return value
        address = self._address(value)
        if isinstance(address, Address):
            size = self.types[value].size_bytes
            touched.append((address[:2], address.offset, address.offset + size))
        return address

    def _address(self, ref: Ref) -> Address | int:
        root = self._roots[ref]
        if isinstance(root.base, Const | State):
            return self._fixed[root.base].data_ptr() + root.offset_bytes
        place = self._places.get(root.base)
        if isinstance(place, Slot):
            return Address(Space.ARENA, 0, place.offset_bytes + root.offset_bytes)
        self.externals.add(root.base)
        return Address(Space.EXTERNAL, root.base.id, root.offset_bytes)


@lru_cache(maxsize=256)
def _kinds(kernel: str) -> dict[str, str]:
    """Whether a kernel reads or writes through an argument, by the argument's name."""
    return {name: kind for name, kind, _, _ in _native.kernel_fields(kernel)}
