"""Independent check of an allocation: no two live values share bytes."""

from __future__ import annotations

import inspect

import torch

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.instruction import External, Instruction, Ref, Reg, Result, Slot
from forge_ugc.npuir.program import Program
from forge_ugc.ops.core.op import lookup
from forge_ugc.ops.core.schema import overload_of

_ALIGNMENT = 64


def check_buffers(program: Program) -> None:
    """Check every place of a program by walking it with the list of all live slots.

    Shares no code with the allocator: owners, last uses and the right to work in place are worked
    out here again, the last from PyTorch's own `pointwise` tag.

    Raises:
        VerificationError: a place is missing, misplaced, misaligned, outside the arena, of the
            wrong size, or overlaps another live one; the message names the registers.
    """
    if program.arena_bytes is None or program.arena_bytes < 0:
        raise VerificationError(f"the program has an arena of {program.arena_bytes} bytes")
    _Checker(program, program.arena_bytes).run()


class _Checker:
    def __init__(self, program: Program, arena_bytes: int) -> None:
        self._program, self._arena_bytes = program, arena_bytes
        self._types = program.types()
        self._owner: dict[Ref, Ref] = {ref: ref for ref in self._types}
        self._offset = dict.fromkeys(self._types, 0)
        for result in program.results():
            if result.view is not None:
                self._owner[result.reg] = self._owner[result.view.base]
                base_offset = self._offset[result.view.base]
                self._offset[result.reg] = base_offset + result.view.offset_bytes
        self._last = self._last_uses()
        self._leaving = {self._owner[ref] for ref in program.outputs}

    def _last_uses(self) -> dict[Ref, int]:
        last: dict[Ref, int] = {}
        for index, instruction in enumerate(self._program.instructions):
            for result in instruction.results:
                last[result.reg] = index
            for ref in instruction.refs():
                last[self._owner[ref]] = index
        for store in self._program.stores:
            last[self._owner[store.value]] = len(self._program.instructions)
        return last

    def run(self) -> None:
        live: list[Result] = []
        for index, instruction in enumerate(self._program.instructions):
            for result in instruction.results:
                self._check_place(instruction, result)
            for result in instruction.results:
                if not isinstance(result.place, Slot):
                    continue
                for other in list(live):
                    if _disjoint(result, other):
                        continue
                    if not self._in_place(index, instruction, result, other):
                        raise VerificationError(
                            f"{result.reg} overwrites {other.reg}, which is still needed",
                            where=_line(index, instruction),
                            why=f"{result.place} and {other.place} overlap",
                        )
                    live.remove(other)
                live.append(result)
            needed = sum(r.place.size_bytes for r in live if isinstance(r.place, Slot))
            if needed > self._arena_bytes:
                raise VerificationError(
                    f"{needed} bytes are live in an arena of {self._arena_bytes} bytes",
                    where=_line(index, instruction),
                )
            live = [r for r in live if self._last[r.reg] > index]

    def _check_place(self, instruction: Instruction, result: Result) -> None:
        place, why = result.place, ""
        if result.view is not None:
            why = "a view has no place of its own" if place is not None else ""
        elif isinstance(place, External) != (result.reg in self._leaving):
            why = "outputs are external, and only they"
        elif place is None:
            why = "it owns memory"
        elif isinstance(place, Slot):
            end = place.offset_bytes + place.size_bytes
            if place.size_bytes != result.type.size_bytes:
                why = f"{result.type} takes {result.type.size_bytes} bytes"
            elif place.offset_bytes % _ALIGNMENT:
                why = f"the offset is no multiple of {_ALIGNMENT}"
            elif place.offset_bytes < 0 or end > self._arena_bytes:
                why = f"the arena has {self._arena_bytes} bytes"
        if why:
            raise VerificationError(
                f"{result.reg} of {instruction.opcode} cannot have the place {place}", why=why
            )

    def _in_place(
        self, index: int, instruction: Instruction, result: Result, victim: Result
    ) -> bool:
        """True if the result may overwrite the victim, which all reads of it allow and then end."""
        if result is not instruction.results[0] or self._last[victim.reg] != index:
            return False
        readers = {ref for ref in instruction.refs() if self._owner[ref] == victim.reg}
        if len(readers) != 1:
            return False
        (reader,) = readers
        return (
            isinstance(reader, Reg)
            and self._types[reader] == result.type
            and _offset(victim) + self._offset[reader] == _offset(result)
            and _reads_in_order(instruction, reader)
        )


def _offset(result: Result) -> int:
    return result.place.offset_bytes if isinstance(result.place, Slot) else -1


def _disjoint(one: Result, two: Result) -> bool:
    a, b = one.place, two.place
    if not isinstance(a, Slot) or not isinstance(b, Slot) or not a.size_bytes or not b.size_bytes:
        return True
    a_end, b_end = a.offset_bytes + a.size_bytes, b.offset_bytes + b.size_bytes
    return a_end <= b.offset_bytes or b_end <= a.offset_bytes


def _reads_in_order(instruction: Instruction, reader: Ref) -> bool:
    """True if element i of the reader is read before element i of result 0 is written."""
    if "." in instruction.opcode:
        tags = overload_of(instruction.opcode).tags
        return torch.Tag.pointwise in tags and not _in_a_list(instruction, reader)
    ours = lookup(instruction.opcode)
    if ours is None:
        return False
    names = list(inspect.signature(ours.infer).parameters)[1:]
    places = [
        name
        for name, operand in zip(names, instruction.operands, strict=False)
        if reader in (operand if isinstance(operand, tuple) else (operand,))
    ]
    return all(name in ours.inplace_operands for name in places)


def _in_a_list(instruction: Instruction, ref: Ref) -> bool:
    return any(ref in o for o in instruction.operands if isinstance(o, tuple))


def _line(index: int, instruction: Instruction) -> str:
    results = ", ".join(str(r.reg) for r in instruction.results)
    return f"instruction {index}: {results} = {instruction.opcode}"
