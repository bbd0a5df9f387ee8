"""Where a spatial target puts a program: kernels on the tiles of an array."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One tile that is used.

    Attributes:
        column, row: from 0, row 0 at the bottom.
        kind: of the tile: `compute`, `memory` or `interface`.
        kernel: what runs there; empty on tiles that only hold or move data.
        instruction: index of the program's instruction that it computes (a part of); None if none.
        used_bytes, memory_bytes: of the tile's memory, taken and there.
    """

    column: int
    row: int
    kind: str
    kernel: str = ""
    instruction: int | None = None
    used_bytes: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A connection between two tiles, by their place in `Floorplan.tiles`."""

    source: int
    sink: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Floorplan:
    """A program on an array of `columns` x `rows` tiles of a device."""

    device: str
    columns: int
    rows: int
    tiles: tuple[Tile, ...]
    streams: tuple[Stream, ...] = ()
