"""The model's figures are those of the fit, and its errors on published rows are as documented."""

import pytest

from forge_ugc.backends.aie.cycles.calibration import calibrate, fit, row_cycles
from forge_ugc.backends.aie.cycles.costs import Costs
from forge_ugc.backends.aie.cycles.rows import ROWS, fitted, held_out, known
from forge_ugc.errors import InternalError


@pytest.fixture(scope="module")
def found():
    return calibrate()


def test_the_default_figures_are_those_that_the_fit_finds():
    assert fit(fitted()) == Costs()


def test_no_row_that_gave_a_figure_is_held_out():
    assert not any(row.gave for row in held_out())
    assert {*fitted(), *held_out()} == set(known())
    assert not {*fitted()} & {*held_out()}
    assert len(held_out()) == 4


def test_rows_of_known_form_are_within_a_fifth(found):
    for row in (*found.fitted, *found.held_out):
        assert abs(row.error) < 0.2, row
    assert found.held_out_error < 0.1


@pytest.mark.parametrize("index", range(4))
def test_the_published_network_is_within_a_fifth(found, index):
    assert abs(found.networks[index].error) < 0.2


def test_the_transpose_is_named_as_the_cause(found):
    for row in found.networks:
        assert row.cause.startswith("b0_scores0: transpose keys, scalar code, ")


def test_a_row_of_unknown_form_has_no_estimate():
    row = next(row for row in ROWS if row.work is None)
    with pytest.raises(InternalError, match="the form of 'deviation of 256x64 bf16' is not known"):
        row_cycles(row, Costs())
