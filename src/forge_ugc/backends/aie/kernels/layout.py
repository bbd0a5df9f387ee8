"""Layouts of arrays that the kernels read: tiles of 8 x 8, padding, biases by rows."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

TILE = 8
"""Rows and columns of a tile."""
TILE_BYTES = TILE * TILE
INCLUDE = Path(__file__).parent / "include"
"""Folder that holds `forge_aie/*.h`."""

I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
Scalar = TypeVar("Scalar", bound=np.generic)


def padded(size: int) -> int:
    """The next multiple of a tile's width."""
    return -(-size // TILE) * TILE


def pad(matrix: npt.NDArray[Scalar], *shape: int) -> npt.NDArray[Scalar]:
    """The array with zeros after its end on each axis, up to `shape`."""
    widths = [(0, size - had) for size, had in zip(shape, matrix.shape, strict=True)]
    return np.pad(matrix, widths)


def tile_matrix(
    matrix: npt.NDArray[Scalar], rows: int = TILE, columns: int = TILE
) -> npt.NDArray[Scalar]:
    """[R, C] -> [R / rows, C / columns, rows, columns], flat: tiles by rows, each row-major.

    R and C must be multiples of the tile's.
    """
    high, wide = matrix.shape
    tiles = matrix.reshape(high // rows, rows, wide // columns, columns)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(-1)


def untile_matrix(
    flat: npt.NDArray[Scalar], shape: tuple[int, int], rows: int = TILE, columns: int = TILE
) -> npt.NDArray[Scalar]:
    """The inverse of `tile_matrix`: [R, C] of R = shape[0], C = shape[1]."""
    high, wide = shape
    tiles = flat.reshape(high // rows, wide // columns, rows, columns)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(high, wide)


def tile_weights(weight: I8) -> I8:
    """Weights i8[N, K] as right operands: [N / 8][K / 8][8 in][8 out], flat.

    A column of tiles, which one pair of accumulators goes through, is contiguous.
    """
    outputs, inputs = weight.shape
    tiles = weight.reshape(outputs // TILE, TILE, inputs // TILE, TILE)
    return np.ascontiguousarray(tiles.transpose(0, 2, 3, 1)).reshape(-1)


def bias_rows(bias: I32) -> I32:
    """A bias i32[N] as starts of accumulators: [N / 8][4 rows alike][8], flat."""
    columns = bias.reshape(-1, 1, TILE)
    return np.ascontiguousarray(np.broadcast_to(columns, (len(columns), 4, TILE))).reshape(-1)
