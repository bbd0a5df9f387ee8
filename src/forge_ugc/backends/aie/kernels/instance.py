"""What the counterparts of all kernels have in common: labels, ports, costs of a tile's product."""

from __future__ import annotations

from dataclasses import dataclass

from forge_ugc.backends.aie.design import Link, Port
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.layout import TILE, TILE_BYTES

FRAME_BYTES = 512
"""Stack of a kernel beside its arrays: spilled registers, calls and the startup code's frame."""
TILE_WORDS = TILE_BYTES // 4
TILE_PIECES = 4
"""128-bit pieces of a tile; a stream moves one in four cycles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Who a kernel is: its name, the model's layer, and the instructions that it computes."""

    name: str
    layer: str
    instructions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Vector issues of the steps that kernels are made of, by architecture.

    Attributes:
        product: an 8 x 8 tile times an 8 x 8 tile.
        requantise: a tile of sums to i8; `transpose` more where the tile leaves transposed.
        exponential: 32 lanes of the polynomial, their distances included.
    """

    product: float
    requantise: float
    transpose: float
    exponential: float


# Of AIE1: sums leave the accumulators 16 lanes an issue, are multiplied 16 lanes an issue, and
# leave again; an interleaving of 2 x 32 lanes of i16 is two issues, three times, and the way to i8
# four more. The exponential counts its 16-lane products, moves, compares and selects.
_AIE1 = Costs(product=4, requantise=12, transpose=14, exponential=62)
_AIE_ML = Costs(product=2, requantise=8, transpose=12, exponential=44)


def costs(device: AieDevice) -> Costs:
    """The issues of a device's architecture."""
    return _AIE1 if device.architecture == "aie1" else _AIE_ML


def port(name: str, link: Link, rows: int, columns: int, needed: float = 1.0) -> Port:
    """A port for an i8 matrix; only what a stream's kernel needs first can be less than all."""
    part = needed if link is Link.STREAM else 1.0
    return Port(name=name, link=link, bytes_per_jet=rows * columns, needed=min(part, 1.0))


def first_rows(rows: int, columns: int) -> float:
    """Share of a matrix read before its first tile of results: a block, and part of the next.

    The next block is fetched while the columns of this one are computed.
    """
    return TILE * (1 + 1 / max(1, min(columns // TILE, TILE_PIECES))) / rows


def block_bytes(link: Link, columns: int) -> int:
    """Local memory for blocks of eight rows of an input: two for a stream, none for a buffer."""
    return 2 * TILE * columns if link is Link.STREAM else 0


def words(link: Link, count: float) -> float:
    """Stream words of a loop's body: none at a buffer."""
    return count if link is Link.STREAM else 0.0
