"""When data pass through a design: initiation interval and latency of the network of tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter

from forge_ugc.backends.aie.design import Design, End, KernelInstance, Link, Net
from forge_ugc.backends.aie.placement import hops

HOP_CYCLES = 4.0
"""Cycles a word takes through one stream switch (AM009: 2 in and 2 out)."""
LOCK_CYCLES = 28.0
"""Cycles to hand over a buffer: four locks of 7 cycles (XD100)."""
WORD_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTiming:
    """What one kernel does in one iteration, in cycles.

    Attributes:
        compute: of the kernel alone.
        transfer: of the busiest stream or cascade port.
        first, last: when its first and its last word leave, from the first word into the design.
    """

    name: str
    compute: float
    transfer: float
    first: float
    last: float

    @property
    def interval(self) -> float:
        """Cycles from one iteration to the next that this tile alone would allow."""
        return max(self.compute, self.transfer)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTiming:
    """Timing of a whole design in cycles of the array's clock.

    Attributes:
        interval: between iterations; `bottleneck` is the kernel or PLIO that sets it.
        latency: first word in to first word out, the way the published figures count.
        latency_to_last: first word in to last word out: when a whole result is there.
    """

    interval: float
    bottleneck: str
    latency: float
    latency_to_last: float
    kernels: tuple[KernelTiming, ...]

    def utilisation(self, kernel: KernelTiming) -> float:
        """Share of the interval in which the kernel computes."""
        return kernel.compute / self.interval


@dataclass(frozen=True, slots=True)
class _Flow:
    """When the first and the last word of a net leave its source."""

    first: float
    last: float

    def at(self, share: float) -> float:
        return self.first + share * (self.last - self.first)


def time_network(design: Design, cycles: Callable[[KernelInstance], float]) -> NetworkTiming:
    """Initiation interval and latency of a placed design; linear in its nets.

    A kernel starts when the first words of the streams that it reads at once and all of its buffers
    are there. Its first word leaves when the share `Port.needed` of each input has arrived and the
    work before it is done; the last when everything has arrived and all work is done. Iterations
    overlap: the interval is that of the slowest kernel or port.

    Args:
        design: checked and placed.
        cycles: of one iteration of a kernel alone, all its inputs waiting.
    """
    flows: dict[End, _Flow] = {}
    timings: dict[str, KernelTiming] = {}
    kernels = {kernel.name: kernel for kernel in design.kernels}
    into = {sink: net for net in design.nets for sink in net.sinks}
    edges = [(plio.name, _plio_cycles(design, plio.name)) for plio in design.plios]
    transfers = dict(edges)
    for plio in design.plios:
        if plio.is_input:
            flows[End(plio.name)] = _Flow(0.0, transfers[plio.name])
    for name in _order(design):
        if name not in kernels:
            continue
        kernel = kernels[name]
        own, timings[name] = _time_kernel(design, kernel, cycles(kernel), into, flows)
        flows.update((End(name, port), flow) for port, flow in enumerate(own))
    outputs = [_arrival(design, into[End(p.name)], p.name, flows) for p in design.plios
               if not p.is_input]  # fmt: skip
    slowest = max(timings.values(), key=lambda timing: timing.interval)
    port, port_cycles = max(edges, key=lambda edge: edge[1])
    by_port = port_cycles > slowest.interval
    return NetworkTiming(
        interval=max(slowest.interval, port_cycles), bottleneck=port if by_port else slowest.name,
        latency=min(flow.first for flow in outputs),
        latency_to_last=max(flow.last for flow in outputs), kernels=tuple(timings.values()),
    )  # fmt: skip


def transfer_cycles(design: Design, link: Link, size_bytes: int) -> float:
    """Cycles that a port of a kernel is busy with `size_bytes` of one iteration.

    A cascade passes an accumulator of 8 lanes (its bytes count 6 a lane) a cycle; a buffer none.
    """
    if link is Link.STREAM:
        return size_bytes / WORD_BYTES
    return size_bytes * 8 / design.device.cascade_bits if link is Link.CASCADE else 0.0


def _order(design: Design) -> list[str]:
    graph: dict[str, set[str]] = {kernel.name: set() for kernel in design.kernels}
    for net in design.nets:
        for sink in net.sinks:
            graph.setdefault(sink.node, set()).add(net.source.node)
    return list(TopologicalSorter(graph).static_order())


def _arrival(design: Design, net: Net, sink: str, flows: Mapping[End, _Flow]) -> _Flow:
    flow = flows[net.source]
    if net.link is Link.CASCADE:
        return flow
    way = HOP_CYCLES * hops(design, net.source.node, sink)
    # A stream needs its time even where its source has all words at once.
    last = max(flow.last, flow.first + transfer_cycles(design, net.link, net.bytes_per_jet))
    return _Flow(flow.first + way, last + way)


def _time_kernel(
    design: Design,
    kernel: KernelInstance,
    compute: float,
    into: Mapping[End, Net],
    flows: Mapping[End, _Flow],
) -> tuple[list[_Flow], KernelTiming]:
    """The flow out of each output, and what the kernel as a whole does."""
    arrivals = [
        _arrival(design, into[End(kernel.name, index)], kernel.name, flows)
        for index in range(len(kernel.inputs))
    ]
    start = 0.0
    for port, arrival in zip(kernel.inputs, arrivals, strict=True):
        if port.read_at == 0:
            full = port.link is Link.BUFFER
            start = max(start, arrival.last + LOCK_CYCLES if full else arrival.first)
    fraction = kernel.work.first_output_fraction
    out = []
    for port in kernel.outputs:
        first, last = start + fraction * compute, start + compute
        for index in range(len(arrivals)) if port.follows is None else port.follows:
            read, arrival = kernel.inputs[index], arrivals[index]
            left = max(0.0, fraction - read.read_at) if read.read_at else 0.0
            first = max(first, arrival.at(read.needed) + left * compute)
            last = max(last, arrival.last)
        words = transfer_cycles(design, port.link, port.bytes_per_jet)
        out.append(_Flow(first, max(last, first + words)))
    transfer = max(
        transfer_cycles(design, port.link, port.bytes_per_jet)
        for port in (*kernel.inputs, *kernel.outputs)
    )
    timing = KernelTiming(
        name=kernel.name, compute=compute, transfer=transfer,
        first=min(flow.first for flow in out), last=max(flow.last for flow in out),
    )  # fmt: skip
    return out, timing


def _plio_cycles(design: Design, name: str) -> float:
    """Cycles of the array's clock that a PLIO needs for one iteration."""
    plio = next(plio for plio in design.plios if plio.name == name)
    size_bytes = plio.shape[0] * plio.shape[1]
    beats = size_bytes * 8 / plio.bits
    at_port = beats * design.device.clock_hz / design.device.pl_clock_hz
    return max(at_port, size_bytes / WORD_BYTES)
