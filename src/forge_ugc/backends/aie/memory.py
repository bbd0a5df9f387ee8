"""Places for buffers and FIFOs: in the memory of a kernel's own tile or of a neighbour's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from forge_ugc.backends.aie.checks import buffer_bytes
from forge_ugc.backends.aie.design import Design
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.errors import ResourceError

Place = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Memory that one kernel reaches.

    Attributes:
        kernel: whose tile or neighbour has to hold it.
        purpose: `data`, `buffer NAME` or `fifo SOURCE`.
        place: (column, row) of the tile that holds it.
    """

    kernel: str
    purpose: str
    size_bytes: int
    place: Place


def neighbours(device: AieDevice, place: Place) -> Iterator[Place]:
    """The tiles whose memory a tile at `place` reaches beside its own (AM009, "Memory Module").

    Those above and below, and one beside it: to the west in even rows and to the east in odd rows
    of the first generation, always to the west in the second.
    """
    column, row = place
    west = device.architecture != "aie1" or row % 2 == 0
    for other in ((column, row + 1), (column, row - 1), (column + (-1 if west else 1), row)):
        if 0 <= other[0] < device.columns and 0 <= other[1] < device.rows:
            yield other


def assign(design: Design) -> tuple[Block, ...]:
    """A place for every array of a placed design, largest first.

    Raises:
        ResourceError: a buffer or a FIFO fits neither its kernel's tile nor a neighbour's.
    """
    device = design.device
    free = {(c, r): device.data_bytes for c in range(device.columns) for r in range(device.rows)}
    blocks = []
    for kernel in design.kernels:
        own = kernel.data_bytes + kernel.stack_bytes
        block = Block(
            kernel=kernel.name, purpose="data", size_bytes=own, place=design.places[kernel.name]
        )
        free[block.place] -= own
        blocks.append(block)
    for wanted in sorted(_movable(design), key=lambda block: -block.size_bytes):
        reach = [wanted.place, *neighbours(device, wanted.place)]
        # The own tile first; then the one with the most room, so that neighbours are not starved.
        fits = [place for place in reach if free[place] >= wanted.size_bytes]
        if not fits:
            raise _no_room(design, wanted, [free[place] for place in reach])
        best = fits[0] if fits[0] == wanted.place else max(fits, key=lambda place: free[place])
        free[best] -= wanted.size_bytes
        blocks.append(replace(wanted, place=best))
    return tuple(blocks)


def _movable(design: Design) -> Iterator[Block]:
    """Buffers and FIFOs, each at its kernel's own tile."""
    for kernel in design.kernels:
        place = design.places[kernel.name]
        for port, size in buffer_bytes(kernel):
            yield Block(
                kernel=kernel.name, purpose=f"buffer {port.name}", size_bytes=size, place=place
            )
    for net in design.nets:
        for sink, words in net.fifos():
            if words > design.device.switch_fifo_words and sink.node in design.places:
                yield Block(
                    kernel=sink.node, purpose=f"fifo {net.source.node}", size_bytes=4 * words,
                    place=design.places[sink.node],
                )  # fmt: skip


def _no_room(design: Design, block: Block, free: list[int]) -> ResourceError:
    layer = next(kernel.layer for kernel in design.kernels if kernel.name == block.kernel)
    return ResourceError(
        f"no tile near {block.kernel} has {block.size_bytes} bytes for its {block.purpose}",
        where=f"layer {layer}",
        why=f"free in its own and the neighbouring tiles: {', '.join(map(str, free))} bytes",
        fix="more shards, fewer rows or features, or a mapping with fewer kernels side by side",
    )
