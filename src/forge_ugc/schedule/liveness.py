"""Live intervals of the results that own memory."""

from __future__ import annotations

from dataclasses import dataclass

from forge_ugc.npuir.instruction import Ref, Reg, ViewOf
from forge_ugc.npuir.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One owner of arena memory and the instructions during which it must keep its contents.

    Attributes:
        reg: the result that owns the memory; views of it share this interval.
        start: index of the instruction that writes it.
        end: index of the last instruction that reads it or a view of it (inclusive; `start` if
            none does); the number of instructions if a store reads it after the last one.
        size_bytes: span of its type.
    """

    reg: Reg
    start: int
    end: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Liveness:
    """Intervals by start, and the results that leave the program.

    Attributes:
        intervals: owners of arena memory, by start; results of one instruction in their order.
        external: owners behind the outputs: fresh memory for each call, no interval.
        roots: owner and byte offset of everything readable.
    """

    intervals: tuple[Interval, ...]
    external: frozenset[Reg]
    roots: dict[Ref, ViewOf]


def analyse(program: Program) -> Liveness:
    """Live intervals of a program, linear in its size.

    Inputs, constants and states own memory outside the arena and have no interval. An output, or
    the owner behind an output that is a view, leaves the program and has none either. A stored
    value lives until after the last instruction, because stores run then.
    """
    roots = program.roots()
    results = {r.reg for r in program.results() if r.view is None}
    last: dict[Ref, int] = {}
    for index, instruction in enumerate(program.instructions):
        for ref in instruction.refs():
            last[roots[ref].base] = index
    for store in program.stores:
        last[roots[store.value].base] = len(program.instructions)
    behind = (roots[ref].base for ref in program.outputs)
    external = frozenset(ref for ref in behind if isinstance(ref, Reg) and ref in results)
    intervals = tuple(
        Interval(
            reg=result.reg,
            start=index,
            end=last.get(result.reg, index),
            size_bytes=result.type.size_bytes,
        )
        for index, instruction in enumerate(program.instructions)
        for result in instruction.results
        if result.view is None and result.reg not in external
    )
    return Liveness(intervals=intervals, external=external, roots=roots)
