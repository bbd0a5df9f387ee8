import math

import pytest
from benchmarks.core.measurement import Ask, Measurement, Subject, fit_line, percentile

ROW = Subject("Times", "gpt2")


def test_percentiles_lie_between_neighbours():
    samples = [5.0, 1.0, 3.0, 2.0, 4.0]
    assert percentile(samples, 0.0) == 1.0
    assert percentile(samples, 0.5) == 3.0
    assert percentile(samples, 0.9) == pytest.approx(4.6)
    assert percentile(samples, 1.0) == 5.0
    assert percentile([7.0], 0.9) == 7.0


def test_repeats_become_median_and_percentiles():
    got = ROW.measure("time", "ms", [4.0, 1.0, 2.0, 3.0], published=9.0)
    assert (got.n, got.median, got.published) == (4, 2.5, 9.0)
    assert (got.p10, got.p90) == (pytest.approx(1.3), pytest.approx(3.7))
    assert (got.ask, got.met) == (None, None)


@pytest.mark.parametrize(
    ("value", "met"), [(0.1, True), (0.3, True), (0.30001, False), (math.nan, False)]
)
def test_an_ask_is_judged_on_the_median(value, met):
    got = ROW.measure("ratio", "ratio", value, ask=Ask("at most 0.3", at_most=0.3))
    assert (got.ask, got.met) == ("at most 0.3", met)


def test_a_bound_may_be_below():
    ask = Ask("60%", at_least=0.6)
    assert ask.met(0.6)
    assert not ask.met(0.59)


def test_a_row_comes_back_from_json_fields():
    rows = [
        ROW.measure("time", "ms", [1.0, 2.0], ask=Ask("fast", at_most=1.0)),
        ROW.note("placed by", "linear-scan"),
        ROW.quote("passed", "count", 42),
    ]
    for row in rows:
        assert Measurement.from_row({**row.row(), "commit": "abc"}) == row


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="unit 'furlong' is none of"):
        ROW.measure("length", "furlong", 1.0)


def test_a_line_through_points_on_it():
    line = fit_line([4, 8, 16, 32], [14.0, 22.0, 38.0, 70.0])
    assert line.slope == pytest.approx(2.0)
    assert line.intercept == pytest.approx(6.0)
    assert line.r_squared == pytest.approx(1.0)


def test_a_line_through_points_beside_it():
    line = fit_line([0, 1, 2], [0.0, 2.0, 1.0])
    assert line.slope == pytest.approx(0.5)
    assert line.intercept == pytest.approx(0.5)
    assert line.r_squared == pytest.approx(0.25)
