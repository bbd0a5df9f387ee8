"""Checks that values which live at the same time never share bytes of the arena."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from typing import NoReturn

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.instruction import Instruction, Ref, Reg, Result, Slot, ViewOf
from forge_ugc.npuir.printer import print_instruction
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType

ALIGNMENT_BYTES = 64


class SlotVerifier:
    """Walks over the program with the set of live slots, sorted by offset.

    Liveness and placement are worked out afresh here, not taken from the allocator that this
    class checks. A value lives from the instruction that defines it to the last one that reads it
    or a view of it; outputs and stored values live to the end.

    Args:
        program: definitions and views already verified.
        types: of every value.
        roots: for every value the owner of its memory and the byte offset in it.
    """

    def __init__(
        self, program: Program, types: Mapping[Ref, TensorType], roots: Mapping[Ref, ViewOf]
    ) -> None:
        self._program = program
        self._types = types
        self._roots = roots
        self._last_use = self._last_uses()
        self._offsets: list[int] = []  # of the live slots, ascending
        self._live: list[tuple[Slot, Result]] = []  # in the same order
        self._index = 0

    def run(self) -> None:
        """Check every slot; O(N log N) comparisons.

        Raises:
            VerificationError: a slot breaks a rule.
        """
        dying: dict[int, list[tuple[Slot, Result]]] = defaultdict(list)
        for index, instruction in enumerate(self._program.instructions):
            self._index = index
            for number, result in enumerate(instruction.results):
                slot = result.place
                if not isinstance(slot, Slot):
                    continue
                self._check_slot(slot, result, instruction)
                if slot.size_bytes:
                    self._insert(slot, result, number, instruction)
                    dying[self._last_use[result.reg]].append((slot, result))
            for slot, result in dying.pop(index, ()):
                self._remove(slot, result)

    def _last_uses(self) -> dict[Ref, int]:
        """For every owner of memory: the index of the last instruction that reads its bytes."""
        last: dict[Ref, int] = {}
        instructions = self._program.instructions
        for index, instruction in enumerate(instructions):
            last.update((self._roots[ref].base, index) for ref in instruction.refs())
            last.update((self._roots[r.reg].base, index) for r in instruction.results)
        pinned = [*self._program.outputs, *(s.value for s in self._program.stores)]
        last.update((self._roots[ref].base, len(instructions)) for ref in pinned)
        return last

    def _check_slot(self, slot: Slot, result: Result, instruction: Instruction) -> None:
        arena = self._program.arena_bytes
        span = f"bytes {slot.offset_bytes} to {slot.offset_bytes + slot.size_bytes}"
        if arena is None:
            self._fail(f"{result.reg} has a buffer, but the program has no arena", instruction)
        if slot.buffer < 0 or slot.offset_bytes < 0 or slot.size_bytes < 0:
            self._fail(
                f"the buffer of {result.reg} has a negative number, offset or size", instruction
            )
        if slot.offset_bytes + slot.size_bytes > arena:
            self._fail(
                f"the buffer of {result.reg} leaves the arena",
                instruction,
                f"it covers {span} of {arena}",
            )
        if slot.offset_bytes % ALIGNMENT_BYTES:
            self._fail(
                f"the buffer of {result.reg} starts at byte {slot.offset_bytes}",
                instruction,
                f"offsets are multiples of {ALIGNMENT_BYTES}",
            )
        if slot.size_bytes < result.type.size_bytes:
            self._fail(
                f"the buffer of {result.reg} is too small",
                instruction,
                f"it has {slot.size_bytes} bytes, {result.type} needs {result.type.size_bytes}",
            )

    def _insert(self, slot: Slot, result: Result, number: int, instruction: Instruction) -> None:
        end = slot.offset_bytes + slot.size_bytes
        at = bisect_left(self._offsets, slot.offset_bytes)
        if at and self._end(at - 1) > slot.offset_bytes:
            self._overlap(at - 1, slot, result, instruction)
        if at < len(self._offsets) and self._offsets[at] == slot.offset_bytes:
            if number or not self._may_take_over(self._live[at][1], result, instruction):
                self._overlap(at, slot, result, instruction)
            if at + 1 < len(self._offsets) and self._offsets[at + 1] < end:
                self._overlap(at + 1, slot, result, instruction)
            self._live[at] = slot, result
            return
        if at < len(self._offsets) and self._offsets[at] < end:
            self._overlap(at, slot, result, instruction)
        self._offsets.insert(at, slot.offset_bytes)
        self._live.insert(at, (slot, result))

    def _may_take_over(self, old: Result, new: Result, instruction: Instruction) -> bool:
        """In place: the old value dies here, and is read exactly as the new one is laid out."""
        if self._last_use[old.reg] != self._index:
            return False
        reads = [
            ref
            for ref in instruction.refs()
            if isinstance(ref, Reg) and self._roots[ref].base == old.reg
        ]
        return bool(reads) and all(
            self._roots[ref].offset_bytes == 0 and self._types[ref] == new.type for ref in reads
        )

    def _remove(self, slot: Slot, result: Result) -> None:
        at = bisect_left(self._offsets, slot.offset_bytes)
        if self._live[at][1] is result:  # otherwise another value took the slot over in place
            del self._offsets[at], self._live[at]

    def _end(self, at: int) -> int:
        slot = self._live[at][0]
        return slot.offset_bytes + slot.size_bytes

    def _overlap(self, at: int, slot: Slot, result: Result, instruction: Instruction) -> NoReturn:
        other, owner = self._live[at]
        last = self._last_use[owner.reg]
        count = len(self._program.instructions)
        until = "the end" if last == count else f"instruction {last}"
        self._fail(
            f"the buffers of {owner.reg} and {result.reg} overlap while both are live",
            instruction,
            f"{owner.reg} lives until {until} in bytes {other.offset_bytes} to {self._end(at)}, "
            f"{result.reg} covers {slot.offset_bytes} to {slot.offset_bytes + slot.size_bytes}",
        )

    def _fail(self, what: str, instruction: Instruction, why: str = "") -> NoReturn:
        text = print_instruction(instruction, locations=False)
        raise VerificationError(what, where=f"instruction {self._index}: {text}", why=why)
