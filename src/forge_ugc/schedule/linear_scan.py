"""Allocation: every result that owns memory gets its bytes in one arena."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from forge_ugc.npuir.instruction import External, Instruction, Reg, Result, Slot
from forge_ugc.npuir.program import Program
from forge_ugc.schedule import first_to_last, large_to_small
from forge_ugc.schedule.blocks import Block, apart, blocks, largest_live_set
from forge_ugc.schedule.liveness import Liveness, analyse

TOLERATED_WASTE = 0.05
"""Above this share of the largest live set, another placement is tried."""
PAIRS_PER_BLOCK = 256
"""Above this many neighbours in time a block, greedy placement would take too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferStats:
    """What allocation made of a program.

    Attributes:
        registers: result registers of all instructions, views included.
        buffers: physical buffers of the arena. A buffer is all memory that starts at one arena
            offset: registers at one offset, one after the other, are in one buffer; its size is
            the largest of theirs.
        external_buffers: results that get memory of their own for each call, outside the arena.
        peak_bytes: size of the arena.
        lower_bound_bytes: the largest live set: the most that is in use during one instruction,
            each owner rounded up to 64 bytes, memory that is taken over in place counted once.
        reused_in_place: results that took over the memory of an operand.
        strategy: what placed them: `linear-scan`; where that wastes more than `TOLERATED_WASTE`,
            `greedy-by-size` if it needs a smaller arena; where that still wastes too much,
            `greedy-apart`, which computes less in place, if it needs a smaller one again.
    """

    registers: int
    buffers: int
    external_buffers: int
    peak_bytes: int
    lower_bound_bytes: int
    reused_in_place: int
    strategy: str

    @property
    def rho(self) -> float:
        """Share of registers without a buffer of their own, external buffers included: 1 - b/r."""
        if not self.registers:
            return 0.0
        return 1.0 - (self.buffers + self.external_buffers) / self.registers


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Blocks, their offsets, the arena they need and what placed them."""

    blocks: list[Block]
    offsets: list[int]
    peak_bytes: int
    strategy: str


def allocate(program: Program) -> tuple[Program, BufferStats]:
    """Give every result that owns memory a place.

    Results behind outputs become `External`; all others get a `Slot` of exactly their type's span
    that starts at a multiple of 64 bytes. Views get no place. Empty results lie at offset 0 and
    take no bytes. Buffers are numbered in the order in which the program first writes to them.

    Returns:
        The program with places and `arena_bytes`, and the figures. Earlier places are replaced.
    """
    live = analyse(program)
    found = blocks(program, live)
    bound = largest_live_set(found)
    best = _best_placement(found, live, bound)
    offset_of = {r: o for b, o in zip(best.blocks, best.offsets, strict=True) for r in b.regs}
    placed, buffers = _with_places(program, offset_of, live.external)
    stats = BufferStats(
        registers=sum(len(i.results) for i in program.instructions),
        buffers=buffers,
        external_buffers=len(live.external),
        peak_bytes=best.peak_bytes,
        lower_bound_bytes=bound,
        reused_in_place=len(offset_of) - len(best.blocks),
        strategy=best.strategy,
    )
    return replace(program, instructions=placed, arena_bytes=best.peak_bytes), stats


def _best_placement(found: list[Block], live: Liveness, bound: int) -> Placement:
    """The first placement within the tolerated waste, or the smallest of all."""
    best = _placement(found, first_to_last.place, "linear-scan")
    for strategy in ("greedy-by-size", "greedy-apart"):
        if best.peak_bytes <= bound * (1 + TOLERATED_WASTE):
            break
        pieces = found if strategy == "greedy-by-size" else apart(found, live, bound)
        if large_to_small.pairs_alive_together(pieces) <= PAIRS_PER_BLOCK * len(pieces):
            other = _placement(pieces, large_to_small.place, strategy)
            best = min(best, other, key=lambda placement: placement.peak_bytes)
    return best


def _placement(
    pieces: list[Block], place: Callable[[Sequence[Block]], list[int]], strategy: str
) -> Placement:
    offsets = place(pieces)
    peak = max((o + b.size_bytes for b, o in zip(pieces, offsets, strict=True)), default=0)
    return Placement(blocks=pieces, offsets=offsets, peak_bytes=peak, strategy=strategy)


def _with_places(
    program: Program, offset_of: dict[Reg, int], external: frozenset[Reg]
) -> tuple[tuple[Instruction, ...], int]:
    """The instructions with places, and how many buffers they use."""
    number_of: dict[int, int] = {}
    outside = External()

    def place(result: Result) -> Result:
        if result.view is not None:
            return Result(result.reg, result.type, result.view)
        if result.reg in external:
            return Result(result.reg, result.type, None, outside)
        offset = offset_of.get(result.reg, 0)
        number = number_of.setdefault(offset, len(number_of))
        return Result(result.reg, result.type, None, Slot(number, offset, result.type.size_bytes))

    placed = tuple(i.with_results(tuple(map(place, i.results))) for i in program.instructions)
    return placed, len(number_of)
