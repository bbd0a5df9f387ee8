"""One NPUIR instruction: what it reads, what it computes, where its results live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NewType

from forge_ugc.npuir.types import TensorType

Device = NewType("Device", str)


@dataclass(frozen=True, slots=True, order=True)
class Reg:
    """A virtual register, `%7`: an input of the program or one result of an instruction."""

    id: int

    def __str__(self) -> str:
        return f"%{self.id}"


@dataclass(frozen=True, slots=True, order=True)
class Const:
    """A constant, `@lm_head.weight`."""

    name: str

    def __str__(self) -> str:
        return f"@{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class State:
    """A state, `$cache.k`: lives across calls, read at the start, written by a `store`."""

    name: str

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A bare word among attributes: a dtype (`f32`), memory format, layout or device."""

    name: str

    def __str__(self) -> str:
        return self.name


Ref = Reg | Const | State
Scalar = bool | int | float
# A Python number in a tensor's place stays a number: PyTorch promotes types differently for it.
Operand = Ref | Scalar | None | tuple["Ref | Scalar | None", ...]
Attribute = Scalar | str | None | Symbol | tuple["Attribute", ...]


@dataclass(frozen=True, slots=True)
class ViewOf:
    """The result shares memory with `base`, starting `offset_bytes` after base's first element.

    The offset may be negative only if base is itself a view.
    """

    base: Ref
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class Slot:
    """The result lives in the arena: physical buffer number, offset and size in bytes."""

    buffer: int
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class External:
    """The result leaves the program: its memory is allocated afresh for every call."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where in the user's model a value comes from."""

    file: str = ""
    line: int = 0
    module: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else ""
        return f"{self.module} ({place})" if self.module and place else self.module or place


@dataclass(frozen=True, slots=True)
class Result:
    """One result register: its type, and its memory once lowering and allocation decided it."""

    reg: Reg
    type: TensorType
    view: ViewOf | None = None
    place: Slot | External | None = None


@dataclass(frozen=True, slots=True)
class Instruction:
    """`%3 = linear(%1, @w, @b) {activation = "relu"} : f32[4,8] device(cpu)`.

    `opcode` names an operator of `forge_ugc.ops` (no dot) or a PyTorch operator with overload
    (`aten.add.Tensor`). Operands follow the operator's schema; attributes at their default value
    are left out.
    """

    results: tuple[Result, ...]
    opcode: str
    operands: tuple[Operand, ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: MappingProxyType({}))
    device: Device | None = None
    location: SourceLocation | None = None

    def refs(self) -> Iterator[Ref]:
        """Every register, constant and state that the instruction reads, in operand order."""
        for operand in self.operands:
            for item in operand if isinstance(operand, tuple) else (operand,):
                if isinstance(item, Reg | Const | State):
                    yield item

    def with_results(self, results: tuple[Result, ...]) -> Instruction:
        """The same instruction with other results."""
        return Instruction(
            results, self.opcode, self.operands, self.attributes, self.device, self.location
        )

    @property
    def is_view(self) -> bool:
        """True if the instruction only re-describes memory: no result has memory of its own."""
        return bool(self.results) and all(r.view is not None for r in self.results)
