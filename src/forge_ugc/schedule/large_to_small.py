"""Placement in order of size: each block goes to the smallest gap among those it lives beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forge_ugc.schedule.blocks import Block


class TimeIndex:
    """Placed blocks by life span: finds those that overlap a span without visiting the others.

    A block of length L lies in level k with 2**k >= L, in the cell `start >> k`; it can overlap a
    span only from the cells of that span and the one before.
    """

    def __init__(self) -> None:
        self._levels: dict[int, dict[int, list[int]]] = {}

    def add(self, number: int, block: Block) -> None:
        """Remember a block under its number."""
        level = (block.end - block.start).bit_length()
        self._levels.setdefault(level, {}).setdefault(block.start >> level, []).append(number)

    def beside(self, block: Block, found: Sequence[Block]) -> Iterator[int]:
        """Numbers of the remembered blocks that live at some time together with this one."""
        for level, cells in self._levels.items():
            first, last = (block.start >> level) - 1, block.end >> level
            near: Iterator[int] | range = range(first, last + 1)
            if last - first > len(cells):
                near = (cell for cell in cells if first <= cell <= last)
            for cell in near:
                for number in cells.get(cell, ()):
                    other = found[number]
                    if other.start <= block.end and block.start <= other.end:
                        yield number


def place(found: Sequence[Block]) -> list[int]:
    """Offset of each block: the largest first, blocks of one size by start.

    O(N log N + P log P) for N blocks of which P pairs live at one time.
    Source: Pisarchyk & Lee 2020, "Efficient memory management for deep neural net inference",
    section 5.2 (greedy by size for offset calculation).
    """
    order = sorted(range(len(found)), key=lambda i: (-found[i].size_bytes, found[i].start, i))
    index = TimeIndex()
    offsets = [0] * len(found)
    for number in order:
        block = found[number]
        taken = sorted(
            (offsets[other], offsets[other] + found[other].size_bytes)
            for other in index.beside(block, found)
        )
        offsets[number] = _smallest_gap(taken, block.size_bytes)
        index.add(number, block)
    return offsets


def _smallest_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Start of the smallest gap between sorted ranges that fits, else the end of the last one."""
    best, best_size, end = -1, 0, 0
    for start, stop in taken:
        gap = start - end
        if gap >= size and (best < 0 or gap < best_size):
            best, best_size = end, gap
        end = max(end, stop)
    return end if best < 0 else best


def pairs_alive_together(found: Sequence[Block]) -> int:
    """How many pairs of blocks (given by start) live at some time together: the work of `place`."""
    ends = sorted(block.end for block in found)
    pairs = dead = 0
    for number, block in enumerate(found):
        while ends[dead] < block.start:
            dead += 1
        pairs += number - dead
    return pairs
