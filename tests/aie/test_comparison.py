"""Comparison of results: shares, first difference, refusals."""

import numpy as np
import pytest

from forge_ugc.aie.comparison import compare, spread_of
from forge_ugc.errors import SimulationError

GOLDEN = np.arange(-32, 32, dtype=np.int8).reshape(1, 8, 8)


def test_equal_results():
    found = compare(GOLDEN, GOLDEN.copy(), layer="out", model="m")
    assert found.matches
    assert str(found) == (
        "64 of 64 values equal; 98.4% of 64 values are neither 0 (1.6%) nor saturated (0.0%)"
    )


def test_the_first_difference_is_that_of_the_first_tile():
    got = GOLDEN.copy()
    got[0, 1, 7], got[0, 4, 0] = 99, 98
    golden, got = (np.concatenate([x, x], -1) for x in (GOLDEN, got))
    golden[0, 0, 8] = 5  # a later tile of an earlier row
    found = compare(golden, got, layer="out", model="m")
    assert (found.differing, found.first.row, found.first.column) == (5, 1, 7)
    assert (found.first.tile, found.first.lane) == ((0, 0), 15)


def test_shares():
    spread = spread_of(np.array([[[0, 127, -128, 3]]], np.int8))
    assert (spread.zero, spread.saturated, spread.telling) == (0.25, 0.5, 0.25)


def test_results_that_are_all_alike_are_refused():
    with pytest.raises(SimulationError) as error:
        compare(np.full((1, 2, 2), 5, np.int8), GOLDEN, layer="out", model="m")
    assert str(error.value) == (
        "a comparison of model m would say nothing\n"
        "  why: of its 4 golden values 0% are 0 and 0% are saturated; all are 5\n"
        "  fix: give other inputs or scales, or calibrate the model on these inputs"
    )


def test_another_number_of_results_is_refused():
    with pytest.raises(SimulationError) as error:
        compare(GOLDEN, GOLDEN[:, :4], layer="out", model="m")
    assert str(error.value) == "the simulated results of m are [1, 4, 8], expected [1, 8, 8]"
