"""Placement in order of first use: a linear scan that takes the smallest hole that fits."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Sequence

from forge_ugc.schedule.blocks import Block


class FreeList:
    """Holes of an arena that grows at its end; neighbouring holes are always joined."""

    def __init__(self) -> None:
        self.end = 0
        self._by_size: list[tuple[int, int]] = []
        self._size_at: dict[int, int] = {}
        self._start_of_end: dict[int, int] = {}

    def take(self, size: int) -> int:
        """Reserve bytes: the smallest hole that fits, the lowest of its kind, else the end.

        A hole that touches the end of the arena is grown by what it lacks.
        """
        position = bisect_left(self._by_size, (size, 0))
        if position < len(self._by_size):
            found, start = self._by_size[position]
        else:
            start = self._start_of_end.get(self.end, self.end)
            found = self.end - start
            self.end = start + size
        if found:
            self._remove(start, found)
        if found > size:
            self._add(start + size, found - size)
        return start

    def give(self, start: int, size: int) -> None:
        """Return reserved bytes."""
        after = self._size_at.get(start + size)
        if after is not None:
            self._remove(start + size, after)
            size += after
        before = self._start_of_end.get(start)
        if before is not None:
            self._remove(before, start - before)
            start, size = before, size + start - before
        self._add(start, size)

    def _add(self, start: int, size: int) -> None:
        insort(self._by_size, (size, start))
        self._size_at[start] = size
        self._start_of_end[start + size] = start

    def _remove(self, start: int, size: int) -> None:
        del self._by_size[bisect_left(self._by_size, (size, start))]
        del self._size_at[start], self._start_of_end[start + size]


def place(found: Sequence[Block]) -> list[int]:
    """Offset of each block, given by start.

    O(N log N) for N blocks: one search in a sorted list for each block taken and for each returned
    (a list of H holes also moves up to H pointers in memory, which is negligible below millions).
    Source: linear scan, Poletto & Sarkar 1999, on byte ranges instead of registers.
    """
    free = FreeList()
    dying: list[tuple[int, int, int]] = []
    offsets = []
    for block in found:
        while dying and dying[0][0] < block.start:
            _, start, size = heapq.heappop(dying)
            free.give(start, size)
        offset = free.take(block.size_bytes)
        heapq.heappush(dying, (block.end, offset, block.size_bytes))
        offsets.append(offset)
    return offsets
