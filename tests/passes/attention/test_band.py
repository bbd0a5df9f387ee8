"""Constant masks are recognised by their values."""

import math

import pytest
import torch

from forge_ugc.ops.attention import band
from forge_ugc.passes.attention.band import Band, as_band, hides_exactly

SIZES = [(1, 1), (1, 4), (4, 1), (4, 4), (3, 6), (6, 3)]
LIMITS = [None, *range(-3, 7)]


@pytest.mark.parametrize(("queries", "keys"), SIZES)
def test_every_band_is_found_again(queries, keys):
    for left in LIMITS:
        for right in LIMITS:
            shown = band(queries, keys, left, right)
            found = as_band(shown[None, None], queries, keys)
            if not shown.any():
                assert found is None
                continue
            assert found is not None, (left, right)
            assert torch.equal(band(queries, keys, found.left, found.right), shown), (left, right)


def test_unbounded_sides_are_named_none():
    assert as_band(torch.ones(5, 5).tril().bool(), 5, 5) == Band(None, 0)
    assert as_band(torch.ones(5, 5).triu().bool(), 5, 5) == Band(0, None)
    assert as_band(torch.ones(3, 5).tril(2).bool(), 3, 5) == Band(None, 2)
    assert as_band(torch.ones(1, 1, 1, 5).bool(), 5, 5) == Band()
    assert as_band(torch.ones(()).bool(), 5, 5) == Band()


@pytest.mark.parametrize("row", range(4))
@pytest.mark.parametrize("key", range(4))
def test_one_wrong_pair_is_no_band(row, key):
    shown = band(4, 4, 2, 0).clone()
    shown[row, key] ^= True
    if (row, key) == (3, 0):  # all that a window of three hides of four keys: causal
        assert as_band(shown, 4, 4) == Band(None, 0)
        return
    assert as_band(shown, 4, 4) is None


def test_planes_that_differ_are_no_band():
    shown = torch.ones(2, 1, 4, 4).tril().bool()
    assert as_band(shown, 4, 4) == Band(None, 0)
    shown[1, 0, 0, 0] = False
    assert as_band(shown, 4, 4) is None
    assert as_band(torch.ones(4, 4).tril().bool().expand(3, 2, 4, 4), 4, 4) == Band(None, 0)


def test_a_visible_prefix_of_keys_is_no_band_for_several_queries():
    prefix = torch.tensor([True, True, False, False])
    assert as_band(prefix, 4, 4) is None
    assert as_band(prefix, 1, 4) == Band(None, 1)


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ((None, None), "none"), ((None, 0), "causal"), ((None, 3), "causal offset 3"),
        ((3, 0), "window of 4"), ((2, 2), "window -2..2"), ((0, None), "window 0.."),
    ],
)  # fmt: skip
def test_text(limits, text):
    assert str(Band(*limits)) == text


LOW = torch.finfo(torch.float32).min
INF = math.inf


@pytest.mark.parametrize("hidden", [-INF, LOW, LOW / 8, -1e9])
def test_low_numbers_hide_where_a_key_is_visible(hidden):
    bias = torch.zeros(4, 4).masked_fill(~band(4, 4, None, 0), hidden)
    assert torch.equal(hides_exactly(bias), band(4, 4, None, 0))


@pytest.mark.parametrize("value", [-1e4, -1.0, 0.5, INF, math.nan])
def test_other_numbers_are_a_bias(value):
    bias = torch.zeros(4, 4)
    bias[1, 2] = value
    assert hides_exactly(bias) is None


def test_a_row_of_the_lowest_number_is_an_average_and_one_of_minus_infinity_is_empty():
    bias = torch.zeros(4, 4)
    bias[2] = LOW
    assert hides_exactly(bias) is None
    bias[2] = -INF
    assert hides_exactly(bias).sum(-1).tolist() == [4, 4, 0, 4]
    bias[2, 1] = LOW
    assert hides_exactly(bias) is None
