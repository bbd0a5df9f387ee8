"""Tiles, padding and the layout of parameters."""

import numpy as np
import pytest

from forge_ugc.backends.aie.kernels.layout import (
    bias_rows,
    pad,
    padded,
    tile_matrix,
    tile_weights,
    untile_matrix,
)


@pytest.mark.parametrize(("size", "want"), [(1, 8), (8, 8), (9, 16), (160, 160)])
def test_padded(size, want):
    assert padded(size) == want


def test_tiles_stand_by_rows_and_are_row_major():
    matrix = np.arange(16 * 16).reshape(16, 16)
    flat = tile_matrix(matrix)
    assert flat[:10].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 16, 17]
    assert flat[64:66].tolist() == [8, 9]  # the tile to the right
    assert flat[128:130].tolist() == [128, 129]  # the first of the next eight rows


@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (4, 8), (2, 4)])
def test_untiling_is_the_inverse(rows, columns):
    matrix = np.arange(16 * 24, dtype=np.int16).reshape(16, 24)
    flat = tile_matrix(matrix, rows, columns)
    assert np.array_equal(untile_matrix(flat, (16, 24), rows, columns), matrix)


def test_weights_stand_by_columns_of_tiles_with_inputs_as_rows():
    weight = np.arange(16 * 24, dtype=np.int16).reshape(16, 24)
    tiles = tile_weights(weight).reshape(2, 3, 8, 8)
    for n, k, row, column in [(0, 0, 0, 0), (1, 2, 3, 4), (0, 1, 7, 6)]:
        assert tiles[n, k, row, column] == weight[8 * n + column, 8 * k + row]


def test_a_bias_is_there_for_each_row_of_a_half_tile():
    rows = bias_rows(np.arange(16, dtype=np.int32)).reshape(2, 4, 8)
    assert (rows == np.arange(16).reshape(2, 1, 8)).all()


def test_padding_is_zeros_at_the_end():
    assert pad(np.ones((1, 2), np.int8), 2, 3).tolist() == [[1, 1, 0], [0, 0, 0]]
