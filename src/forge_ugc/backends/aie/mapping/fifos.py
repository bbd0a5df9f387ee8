"""Depths of stream FIFOs that keep a design from waiting for itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from forge_ugc.backends.aie.design import Design, End, KernelInstance, Link, Net

WORD_BYTES = 4
GRANULE_WORDS = 4
"""A FIFO in tile memory has a multiple of so many words."""
ROOT = ""
"""Stands before all inputs of the design."""


def with_fifos(design: Design) -> Design:
    """The design with a FIFO wherever data have to wait for data on another way.

    Where ways part at one kernel and meet at another, the faster one has to hold what its source
    must send on before the slower one delivers, or the source stops and nothing moves again. Ways
    are measured in shares of an iteration. The most that a way may lag behind its source is the
    sum of what its kernels may have read before they write, 1 where a kernel reads all of an input
    first (keys, values); the least is 1 if there is such a kernel on it, else 0. A FIFO holds the
    most of the slowest way less the least of its own, at most one iteration: once a source has
    sent all of an iteration, no way needs more of it.

    Quadratic in the number of kernels with several inputs.
    """
    into = {sink: net for net in design.nets for sink in net.sinks}
    kernels = {kernel.name: kernel for kernel in design.kernels}
    order, sources = _graph(design, into)
    dominators = _dominators(order, sources)
    depths: dict[End, int] = {}
    for kernel in design.kernels:
        ends = [End(kernel.name, index) for index in range(len(kernel.inputs))]
        if len(ends) < 2:
            continue
        nodes = [into[end].source.node for end in ends]
        common = set.intersection(*(dominators[node] for node in nodes))
        start = max(common, key=order.index)
        most, least = _lags(start, order, kernels, into)
        for end, node in zip(ends, nodes, strict=True):
            share = _share(kernel, end, into, most) - least[node]
            depths[end] = _words(into[end], 0.0 if _waits(kernel, end) else share)
    return replace(design, nets=tuple(_deepened(net, depths) for net in design.nets))


def _waits(kernel: KernelInstance, end: End) -> bool:
    """Whether the kernel reads all of this input before anything of the others."""
    return kernel.inputs[end.port].needed >= 1


def _share(
    kernel: KernelInstance, end: End, into: Mapping[End, Net], most: Mapping[str, float]
) -> float:
    """How much the source may have to send before the slowest other input has its first word."""
    slowest = 0.0
    for index, port in enumerate(kernel.inputs):
        if index != end.port:
            other = most[into[End(kernel.name, index)].source.node]
            slowest = max(slowest, other + (1.0 if port.needed >= 1 else port.needed))
    return min(slowest, 1.0)


def _words(net: Net, share: float) -> int:
    if share <= 0 or net.link is not Link.STREAM:
        return 0
    # Shares are sums of decimals: what is a whole number but for their rounding is one.
    words = math.ceil(round(share * net.bytes_per_jet / WORD_BYTES, 6))
    return math.ceil(words / GRANULE_WORDS) * GRANULE_WORDS


def _deepened(net: Net, depths: Mapping[End, int]) -> Net:
    words = tuple(depths.get(sink, 0) for sink in net.sinks)
    return replace(net, fifo_words=words if any(words) else ())


def _graph(design: Design, into: Mapping[End, Net]) -> tuple[list[str], dict[str, set[str]]]:
    """Nodes in the order in which data flow, and the sources of each."""
    inputs = [plio.name for plio in design.plios if plio.is_input]
    order = [ROOT, *inputs, *(kernel.name for kernel in design.kernels)]
    sources: dict[str, set[str]] = {ROOT: set(), **{name: {ROOT} for name in inputs}}
    for kernel in design.kernels:
        ends = (End(kernel.name, index) for index in range(len(kernel.inputs)))
        sources[kernel.name] = {into[end].source.node for end in ends}
    return order, sources


def _dominators(order: list[str], sources: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """For each node the nodes, itself included, that all data on their way to it go through."""
    found: dict[str, set[str]] = {}
    for node in order:
        before = [found[source] for source in sources[node]]
        found[node] = {node} | (set.intersection(*before) if before else set())
    return found


def _lags(
    start: str,
    order: list[str],
    kernels: Mapping[str, KernelInstance],
    into: Mapping[End, Net],
) -> tuple[dict[str, float], dict[str, float]]:
    """The most and the least that each node's output lags behind that of `start`."""
    most, least = {start: 0.0}, {start: 0.0}
    for node in order[order.index(start) + 1 :]:
        if node not in kernels:
            most[node] = least[node] = 0.0
            continue
        reads = []
        for index, port in enumerate(kernels[node].inputs):
            source = into[End(node, index)].source.node
            if source in most:
                whole = port.needed >= 1
                # A kernel reads at most twice ahead of what it needs for its first word.
                reads.append((most[source] + (1.0 if whole else 2 * port.needed),
                              least[source] + (1.0 if whole else 0.0)))  # fmt: skip
        if reads:
            most[node] = max(slow for slow, _ in reads)
            least[node] = min(max(fast for _, fast in reads), 1.0)
    return most, least
