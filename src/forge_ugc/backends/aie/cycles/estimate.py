"""Cycles of a kernel from the loops that its mapping says it has."""

from __future__ import annotations

from dataclasses import dataclass

from forge_ugc.backends.aie.cycles.costs import Costs
from forge_ugc.backends.aie.design import KernelInstance, Loop, Work

DEFAULT = Costs()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCycles:
    """One loop's share of an iteration of the graph, in cycles.

    bound: what limits the body: vector, load, store, stream, scalar.
    """

    name: str
    body: float
    prologue: float
    bound: str

    @property
    def total(self) -> float:
        """Cycles of the loop."""
        return self.body + self.prologue


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCycles:
    """An iteration of a kernel alone, all of its inputs waiting, in cycles."""

    call: float
    loops: tuple[LoopCycles, ...]

    @property
    def total(self) -> float:
        """Cycles of one iteration."""
        return self.call + sum(loop.total for loop in self.loops)

    @property
    def heaviest(self) -> LoopCycles | None:
        """The loop that takes most of the time."""
        return max(self.loops, key=lambda loop: loop.total, default=None)


def loop_cycles(loop: Loop, costs: Costs = DEFAULT) -> LoopCycles:
    """Cycles of one loop.

    A pipelined loop takes its busiest slot for each trip, over the efficiency of pipelines, and a
    prologue for each entry; in any other, slots take turns and each trip waits for its result.
    Scalar code hides behind nothing.
    """
    slots = {
        "vector": loop.vector * costs.vector_issue,
        "load": loop.loads * costs.load,
        "store": loop.stores * costs.store,
        "stream": max(loop.stream_in, loop.stream_out),
    }
    bound = max(slots, key=lambda name: slots[name])
    if loop.scalar > slots[bound]:
        bound = "scalar"
    if loop.pipelined:
        trip = max(slots.values()) / costs.pipeline_efficiency + loop.scalar
        return LoopCycles(
            name=loop.name, body=loop.trips * trip, prologue=loop.entries * costs.loop_prologue,
            bound=bound,
        )  # fmt: skip
    latency = costs.chain_latency if loop.vector else 0.0
    trip = sum(slots.values()) + loop.scalar + latency
    return LoopCycles(name=loop.name, body=loop.trips * trip, prologue=0.0, bound=bound)


def work_cycles(work: Work, costs: Costs = DEFAULT) -> KernelCycles:
    """Cycles of one invocation of a kernel; linear in the number of its loops."""
    loops = tuple(loop_cycles(loop, costs) for loop in work.loops)
    return KernelCycles(call=costs.call_cycles, loops=loops)


def estimate(kernel: KernelInstance, costs: Costs = DEFAULT) -> float:
    """Cycles of one iteration of a kernel alone, as `time_network` asks for them."""
    return work_cycles(kernel.work, costs).total
