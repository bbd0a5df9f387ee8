"""Device-affinity scheduling: an order of the instructions with few device transitions."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from forge_ugc.npuir.instruction import Instruction, Result
from forge_ugc.npuir.program import Program
from forge_ugc.schedule.blocks import blocks, largest_live_set
from forge_ugc.schedule.dependencies import NOWHERE, Dependencies, dependencies
from forge_ugc.schedule.liveness import analyse

HORIZON = 64
"""How many instructions of a device are looked ahead at most when several devices could be next."""
FIRST_DEVICES = 3
"""How many devices are tried as the first one."""
WINDOWS = (None, 256, 64, 16)
"""How far, in the original order, an instruction may overtake the first one still waiting."""
LIVE_GROWTH = 1.25
"""By how much the largest live set may grow for fewer transitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleStats:
    """What scheduling made of a program.

    Attributes:
        transitions_before: neighbouring instructions on different devices in the given order;
            views are left out, because they are free and belong to no device.
        transitions_after: the same in the new order; never more.
        moved: instructions whose position changed.
        window: limit on overtaking that kept the memory within bounds, None for no limit.
    """

    transitions_before: int
    transitions_after: int
    moved: int
    window: int | None = None


def count_transitions(instructions: Sequence[Instruction]) -> int:
    """Neighbouring instructions on different devices, views left out."""
    devices = [i.device for i in instructions if not i.is_view]
    return sum(a != b for a, b in pairwise(devices))


def schedule(program: Program, affinity: bool = True) -> tuple[Program, ScheduleStats]:
    """Order the instructions so that runs on one device are long.

    Every result still comes before its readers; random draws and effects keep their order. Among
    the instructions that are ready on the current device the first of the given order comes next,
    views as soon as they are the first. When the device has nothing ready, the device with the
    longest run within `HORIZON` instructions follows. With two devices the number of transitions
    is the least possible, unless memory sets a limit: where the largest live set would grow by more
    than `LIVE_GROWTH`, overtaking is limited to the `WINDOWS` one after the other. The given order
    stays if no other has fewer transitions, so always with one device.

    O(N log N + E) for N instructions and E uses of results. Places of an earlier allocation are
    dropped if the order changes.

    Raises:
        UnsupportedOperatorError: an opcode is not registered in this process.
    """
    given = program.instructions
    before = count_transitions(given)
    if not affinity or before == 0:
        return program, ScheduleStats(transitions_before=before, transitions_after=before, moved=0)
    graph = dependencies(program)
    live_bytes = -1
    for window in WINDOWS:
        order, after = _best_order(graph, window)
        if after >= before:
            break
        if live_bytes < 0:
            live_bytes = _live_bytes(program)
        ordered = _reordered(program, order)
        if _live_bytes(ordered) <= LIVE_GROWTH * live_bytes:
            stats = ScheduleStats(
                transitions_before=before,
                transitions_after=after,
                moved=sum(old != new for new, old in enumerate(order)),
                window=window,
            )
            return ordered, stats
    return program, ScheduleStats(transitions_before=before, transitions_after=before, moved=0)


def _live_bytes(program: Program) -> int:
    return largest_live_set(blocks(program, analyse(program)))


def _best_order(graph: Dependencies, window: int | None) -> tuple[list[int], int]:
    """The order with the fewest transitions among those that start with different devices."""
    tries = []
    for first in range(min(graph.devices, FIRST_DEVICES)):
        order = _Scheduler(graph, window).run(first)
        devices = [graph.device[i] for i in order if graph.device[i] != NOWHERE]
        tries.append((sum(a != b for a, b in pairwise(devices)), first, order))
    after, _, order = min(tries)
    return order, after


class _Scheduler:
    """One greedy walk over the dependency graph."""

    def __init__(self, graph: Dependencies, window: int | None) -> None:
        self._graph = graph
        self._window = len(graph.waits) if window is None else window
        self._waits = list(graph.waits)
        self._done = [False] * len(graph.waits)
        self._first_waiting = 0
        # One heap of positions a device; the last one, at index NOWHERE, is for the views.
        self._ready: list[list[int]] = [[] for _ in range(graph.devices + 1)]
        for index, waits in enumerate(graph.waits):
            if not waits:
                heapq.heappush(self._ready[graph.device[index]], index)

    def run(self, device: int) -> list[int]:
        """The whole order, beginning on a device if it has anything to begin with."""
        order: list[int] = []
        ready = self._ready
        while len(order) < len(self._done):
            heap = min((ready[device], ready[NOWHERE]), key=self._top)
            if self._top(heap) >= self._first_waiting + self._window:
                device = self._next_device()
                continue
            index = heapq.heappop(heap)
            order.append(index)
            self._finish(index)
        return order

    def _top(self, heap: list[int]) -> int:
        return heap[0] if heap else len(self._done) + self._window

    def _finish(self, index: int) -> None:
        self._done[index] = True
        while self._first_waiting < len(self._done) and self._done[self._first_waiting]:
            self._first_waiting += 1
        for follower in self._graph.followers[index]:
            self._waits[follower] -= 1
            if not self._waits[follower]:
                heapq.heappush(self._ready[self._graph.device[follower]], follower)

    def _next_device(self) -> int:
        end = self._first_waiting + self._window
        able = [d for d in range(self._graph.devices) if self._top(self._ready[d]) < end]
        if len(able) == 1:
            return able[0]
        return min(able, key=lambda d: (-self._run_length(d), self._ready[d][0]))

    def _run_length(self, device: int) -> int:
        """How many instructions could run on the device from here, `HORIZON` at most.

        The work is bounded by a multiple of `HORIZON`, however wide the graph is.
        """
        graph, length, edges = self._graph, 0, 0
        if len(self._ready[device]) >= HORIZON:
            return HORIZON
        todo, waits = list(self._ready[device]), dict[int, int]()
        while todo and length < HORIZON and edges < 8 * HORIZON:
            index = todo.pop()
            length += graph.device[index] != NOWHERE
            for follower in graph.followers[index][: 8 * HORIZON]:
                edges += 1
                waits[follower] = waits.get(follower, self._waits[follower]) - 1
                if not waits[follower] and graph.device[follower] in (device, NOWHERE):
                    todo.append(follower)
        return length


def _reordered(program: Program, order: Sequence[int]) -> Program:
    instructions = tuple(program.instructions[i] for i in order)
    if program.arena_bytes is not None:
        instructions = tuple(
            i.with_results(tuple(Result(r.reg, r.type, r.view) for r in i.results))
            for i in instructions
        )
    return replace(program, instructions=instructions, arena_bytes=None)
