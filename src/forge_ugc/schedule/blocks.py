"""Blocks of arena memory: registers that take each other's place over, as one thing to place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from forge_ugc.npuir.instruction import Reg
from forge_ugc.npuir.program import Program
from forge_ugc.ops.core.inplace import inplace_operands
from forge_ugc.schedule.liveness import Liveness

ALIGNMENT_BYTES = 64


def aligned(size_bytes: int) -> int:
    """The size rounded up to whole alignment units."""
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


@dataclass(slots=True, kw_only=True)
class Block:
    """A chain of registers of one size, each computed in place of the one before.

    Attributes:
        size_bytes: bytes to reserve, a multiple of the alignment, never 0.
        start: first instruction that needs the bytes; `end`: the last one, inclusive.
        regs: the registers in order.
    """

    size_bytes: int
    start: int
    end: int
    regs: list[Reg] = field(default_factory=list)


def blocks(program: Program, liveness: Liveness) -> list[Block]:
    """The blocks of a program by start.

    A result takes over the memory of an operand (or of the owner an operand is a view of, from its
    first byte on) that dies at the instruction, if the operator allows it and both need the same
    number of aligned bytes. That is never worse than fresh memory: the block's bytes stay in use
    for as long as one of the two would need them anyway. Empty results need no block.
    """
    types = program.types()
    of: dict[Reg, Block] = {}
    found: list[Block] = []
    roots, external = liveness.roots, liveness.external
    for interval in liveness.intervals:
        size = aligned(interval.size_bytes)
        if not size:
            continue
        instruction = program.instructions[interval.start]
        block = None
        if instruction.results[0].reg == interval.reg:
            for operand in inplace_operands(instruction, types, roots):
                root = roots[operand]
                if not isinstance(root.base, Reg) or root.offset_bytes or root.base in external:
                    continue
                before = of.get(root.base)
                if before and before.end == interval.start and before.size_bytes == size:
                    block = before
                    break
        if block is None:
            block = Block(size_bytes=size, start=interval.start, end=interval.end)
            found.append(block)
        block.regs.append(interval.reg)
        block.end = interval.end
        of[interval.reg] = block
    return found


def apart(found: Sequence[Block], liveness: Liveness, bound: int) -> list[Block]:
    """The same registers in more, shorter blocks, with the same largest live set.

    A chain is cut wherever both its ends fit beside everything else that is live at that
    instruction. Shorter blocks are easier to place, at the price of more buffers.

    Args:
        found: blocks by start; `bound`: their largest live set.
        liveness: of the same program.
    """
    span = {i.reg: i for i in liveness.intervals}
    live = _live_bytes(found)
    pieces: list[Block] = []
    for block in found:
        piece: Block | None = None
        for reg in block.regs:
            start, end = span[reg].start, span[reg].end
            if piece is None or live[start] + block.size_bytes <= bound:
                piece = Block(size_bytes=block.size_bytes, start=start, end=end)
                pieces.append(piece)
            piece.regs.append(reg)
            piece.end = end
    return sorted(pieces, key=lambda piece: piece.start)


def largest_live_set(found: Sequence[Block]) -> int:
    """Most bytes that are in use during one instruction: no placement can need less."""
    return max(_live_bytes(found), default=0)


def _live_bytes(found: Sequence[Block]) -> list[int]:
    """Bytes in use during each instruction, up to the last one that needs any."""
    change = [0] * (max((block.end for block in found), default=-1) + 2)
    for block in found:
        change[block.start] += block.size_bytes
        change[block.end + 1] -= block.size_bytes
    return list(accumulate(change))
