"""PLIO files: i8 matrices as text in the order in which a port passes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forge_ugc.backends.aie.design import Plio
from forge_ugc.backends.aie.kernels.layout import I8, pad, tile_matrix, untile_matrix
from forge_ugc.errors import SimulationError

# What AMD's simulators write beside the values: `T 12 ns` before a line, TLAST before its last.
_STAMP = re.compile(r"^\s*T\s+[\d.]+\s*[munp]?s\s*$")
_LAST = "TLAST"


def port_bytes(matrix: I8, plio: Plio) -> I8:
    """A port's share of a matrix i8[R, C] in the port's order.

    Rows from `plio.first_row` on, padded with zeros to `plio.shape`, cut into tiles.
    """
    share = matrix[plio.first_row : plio.first_row + plio.shape[0]]
    tiles = tile_matrix(pad(share, *plio.shape), plio.tile_rows, plio.tile_columns)
    return _turned(tiles, plio.tile_rows, plio.tile_columns) if plio.transposed else tiles


def port_matrix(flat: I8, plio: Plio, shape: tuple[int, int]) -> I8:
    """The inverse: the rows that the port has of a matrix of `shape`, padding dropped."""
    if plio.transposed:
        flat = _turned(flat, plio.tile_columns, plio.tile_rows)
    whole = untile_matrix(flat, plio.shape, plio.tile_rows, plio.tile_columns)
    return np.ascontiguousarray(whole[: shape[0] - plio.first_row, : shape[1]])


def _turned(flat: I8, rows: int, columns: int) -> I8:
    """Every tile of rows x columns transposed."""
    return np.ascontiguousarray(flat.reshape(-1, rows, columns).transpose(0, 2, 1)).reshape(-1)


def plio_text(values: npt.NDArray[np.int8], bits: int) -> str:
    """Decimal values of a port of `bits` bits, one transfer a line: 16 values at 128 bits.

    values: i8[n], n a multiple of the values of a line.
    """
    lines = values.reshape(-1, bits // 8).tolist()
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def write_inputs(path: Path, matrices: Sequence[I8], plio: Plio) -> None:
    """The text of an input port for one matrix after the other."""
    flat = np.concatenate([port_bytes(matrix, plio) for matrix in matrices])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(plio_text(flat, plio.bits))


def read_outputs(path: Path, plio: Plio, shape: tuple[int, int]) -> I8:
    """The rows that a port wrote of every matrix of `shape`: i8[jets, R, C].

    Time stamps and TLAST of AMD's simulators are dropped.

    Raises:
        SimulationError: there is no such file, it holds something else than values of 8 bits, or no
            whole number of matrices.
    """
    if not path.is_file():
        raise SimulationError(
            f"the simulation wrote no {path.name}",
            where=str(path.parent),
            why="it ended before the first result, or the graph has no such port",
        )
    words = [
        word
        for line in path.read_text().splitlines()
        if not _STAMP.match(line)
        for word in line.split()
        if word != _LAST
    ]
    size = plio.shape[0] * plio.shape[1]
    values = _numbers(words, path)
    if not values.size or values.size % size:
        raise SimulationError(
            f"{path.name} holds {values.size} values, expected a multiple of {size}",
            where=str(path.parent),
            why=f"one iteration gives a matrix of {plio.shape[0]} x {plio.shape[1]}",
            fix="look for kernels that waited at the end: the inputs may be too short",
        )
    return np.stack([port_matrix(jet, plio, shape) for jet in values.reshape(-1, size)])


def _numbers(words: list[str], path: Path) -> I8:
    try:
        values = np.array([int(word) for word in words], dtype=np.int64)
    except ValueError as error:
        raise SimulationError(
            f"{path.name} is no PLIO file of integers", where=str(path.parent), why=str(error)
        ) from None
    if values.size and (values.min() < -128 or values.max() > 127):
        raise SimulationError(
            f"{path.name} holds values of {values.min()} to {values.max()}, expected 8 bits",
            where=str(path.parent),
        )
    return values.astype(np.int8)
