"""A tile for every kernel: cascades along rows, everything close to what it talks to."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from forge_ugc.backends.aie.design import Design, Link
from forge_ugc.backends.aie.memory import assign
from forge_ugc.backends.floorplan import Floorplan, Stream, Tile
from forge_ugc.errors import ResourceError

Place = tuple[int, int]


def place(design: Design) -> Design:
    """The design with a (column, row) for each kernel; linear in the number of kernels.

    Kernels that a cascade joins lie side by side in one row, in the direction in which the cascade
    of the row runs: eastwards in even rows and, where it snakes, westwards in odd ones. The groups
    are put, in the order of the design, where the array is filled least, so that neighbours in the
    flow of data are neighbours on the array.

    Raises:
        ResourceError: a cascade is longer than a row, or the rows have no room for it.
    """
    device = design.device
    filled = [0] * device.rows
    places: dict[str, Place] = {}
    layers = {kernel.name: kernel.layer for kernel in design.kernels}
    for chain in cascades(design):
        row = min(range(device.rows), key=filled.__getitem__)
        if filled[row] + len(chain) > device.columns:
            raise ResourceError(
                f"no row of {device.name} has {len(chain)} free tiles side by side for {chain[0]}",
                where=f"layer {layers[chain[0]]}",
                why=f"{len(places)} of {device.tiles} tiles are taken",
                fix="fewer shards, or mapping='published'",
            )
        columns = range(filled[row], filled[row] + len(chain))
        westwards = device.cascade_snakes and row % 2 == 1
        order = reversed(columns) if westwards else columns
        places.update((name, (column, row)) for name, column in zip(chain, order, strict=True))
        filled[row] += len(chain)
    return replace(design, places=MappingProxyType(places))


def cascades(design: Design) -> list[list[str]]:
    """Kernels in groups that cascades join, each in the direction of its cascade.

    The groups are in the order in which their first kernels stand in the design.
    """
    after = {net.source.node: net.sinks[0].node for net in design.nets if net.link is Link.CASCADE}
    heads = {kernel.name for kernel in design.kernels} - set(after.values())
    chains = []
    for kernel in design.kernels:
        if kernel.name in heads:
            chain = [kernel.name]
            while chain[-1] in after:
                chain.append(after[chain[-1]])
            chains.append(chain)
    return chains


def hops(design: Design, source: str, sink: str) -> int:
    """Stream switches between two nodes: one for each step, plus one; from the edge for a PLIO."""
    first, last = design.places.get(source), design.places.get(sink)
    if first is None or last is None:
        inside = first or last
        return 1 if inside is None else inside[1] + 2
    return abs(first[0] - last[0]) + abs(first[1] - last[1]) + 1


def floorplan(design: Design) -> Floorplan:
    """What the report draws of a placed design.

    Raises:
        ResourceError: a buffer fits neither its own tile nor a neighbour.
    """
    used: dict[Place, int] = {}
    for block in assign(design):
        used[block.place] = used.get(block.place, 0) + block.size_bytes
    index = {kernel.name: position for position, kernel in enumerate(design.kernels)}
    tiles = [
        Tile(
            column=design.places[kernel.name][0], row=design.places[kernel.name][1],
            kind="compute", kernel=kernel.name,
            instruction=kernel.instructions[0] if kernel.instructions else None,
            used_bytes=used.pop(design.places[kernel.name]),
            memory_bytes=design.device.data_bytes,
        )
        for kernel in design.kernels
    ]  # fmt: skip
    tiles += [
        Tile(column=place[0], row=place[1], kind="compute", used_bytes=size,
             memory_bytes=design.device.data_bytes)
        for place, size in sorted(used.items())
    ]  # fmt: skip
    streams = [
        Stream(source=index[net.source.node], sink=index[sink.node])
        for net in design.nets
        for sink in net.sinks
        if net.source.node in index and sink.node in index
    ]
    return Floorplan(
        device=design.device.name, columns=design.device.columns, rows=design.device.rows,
        tiles=tuple(tiles), streams=tuple(streams),
    )  # fmt: skip
