"""An NPUIR program: declarations, instructions in order, final stores and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forge_ugc.npuir.instruction import Const, Instruction, Ref, Reg, Result, State, ViewOf
from forge_ugc.npuir.types import TensorType


@dataclass(frozen=True, slots=True)
class InputDecl:
    """`input %0 "input_ids" : i64[1,128]`."""

    reg: Reg
    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class ConstDecl:
    """`const @w : f32[8,4]`, or a view of another constant's memory."""

    name: str
    type: TensorType
    view: ViewOf | None = None


@dataclass(frozen=True, slots=True)
class StateDecl:
    """`state $cache : f32[1,4,16,8]`; its initial value is stored beside the program."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class Store:
    """`store $cache, %9`: after the last instruction, copy a value into a state or an input.

    All values are taken before the first store writes.
    """

    target: Reg | State
    value: Ref


@dataclass(frozen=True, slots=True)
class Program:
    """A straight-line program in static single assignment form.

    Attributes:
        arena_bytes: size of the arena that the slots lie in; None before allocation.
    """

    name: str
    target: str
    inputs: tuple[InputDecl, ...] = ()
    constants: tuple[ConstDecl, ...] = ()
    states: tuple[StateDecl, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    stores: tuple[Store, ...] = ()
    outputs: tuple[Ref, ...] = ()
    arena_bytes: int | None = None

    def __str__(self) -> str:
        """The NPUIR text, without source locations."""
        from forge_ugc.npuir.printer import print_program

        return print_program(self, locations=False)

    def results(self) -> Iterator[Result]:
        """Every result of every instruction in program order."""
        for instruction in self.instructions:
            yield from instruction.results

    def types(self) -> dict[Ref, TensorType]:
        """The type of everything that can be read."""
        found: dict[Ref, TensorType] = {i.reg: i.type for i in self.inputs}
        found.update((Const(c.name), c.type) for c in self.constants)
        found.update((State(s.name), s.type) for s in self.states)
        found.update((r.reg, r.type) for r in self.results())
        return found

    def roots(self) -> dict[Ref, ViewOf]:
        """For every readable value: the value that owns its memory, with the byte offset in it.

        An owner maps to itself at offset 0. Linear in the size of the program.
        """
        owner: dict[Ref, ViewOf] = {i.reg: ViewOf(i.reg, 0) for i in self.inputs}
        owner.update((State(s.name), ViewOf(State(s.name), 0)) for s in self.states)
        for const in self.constants:
            owner[Const(const.name)] = _root(owner, Const(const.name), const.view)
        for result in self.results():
            owner[result.reg] = _root(owner, result.reg, result.view)
        return owner


def _root(owner: dict[Ref, ViewOf], ref: Ref, view: ViewOf | None) -> ViewOf:
    if view is None:
        return ViewOf(ref, 0)
    base = owner[view.base]
    return ViewOf(base.base, base.offset_bytes + view.offset_bytes)
