"""Work of the loop that dense layers and both products of attention share."""

from __future__ import annotations

from collections.abc import Iterator

from forge_ugc.backends.aie.design import Link, Loop
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.instance import TILE_PIECES, TILE_WORDS, costs, words
from forge_ugc.backends.aie.kernels.layout import TILE


def product_loops(
    device: AieDevice, *, rows: int, depth: int, columns: int, link: Link, ports: int = 1
) -> Iterator[Loop]:
    """Loops of `multiply_block` over all rows: blocks of 8 rows times a matrix of tiles.

    The first columns of a block also fetch the next block from the stream, `ports` side by side.
    """
    blocks, steps, tiles = rows // TILE, depth // TILE, columns // TILE
    fetching = min(tiles, TILE_PIECES)
    if link is Link.STREAM:
        yield Loop(
            name="first block", trips=steps * TILE_PIECES, stores=0.5, stream_in=4 / ports
        )  # fmt: skip
    yield Loop(
        name="products", trips=blocks * fetching * steps, entries=blocks * fetching,
        vector=costs(device).product, loads=4,
        stream_in=words(link, TILE_WORDS / fetching / ports),
    )  # fmt: skip
    if tiles > fetching:
        others = blocks * (tiles - fetching)
        yield Loop(
            name="products", trips=others * steps, entries=others,
            vector=costs(device).product, loads=4,
        )  # fmt: skip


def results_loop(
    device: AieDevice, *, rows: int, columns: int, link: Link, extra: float = 0.0
) -> Loop:
    """Requantisation of every tile of sums on its way out, `extra` vector issues with it."""
    stores = 0.0 if link is Link.STREAM else 2.0
    return Loop(
        name="requantise", trips=rows * columns // TILE**2, vector=costs(device).requantise + extra,
        stores=stores, stream_out=words(link, TILE_WORDS),
    )  # fmt: skip
