"""The integer exponential against the exact one, over every input, and its parameters."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.errors import QuantizationError
from forge_ugc.ops.core.integer_exp import (
    OCTAVE,
    ONE,
    T_LIMIT,
    exponentials,
    halved,
    polynomial,
    scaled_distance,
)
from forge_ugc.quantization.integer_softmax import (
    ABSOLUTE_BOUND,
    EXPONENTIAL_BOUND,
    POLYNOMIAL_ONE,
    RELATIVE_BOUND,
    TABLE_BOUND,
    context_factor,
    distance_factor,
    exponential_table,
    weight_table,
)

D = torch.arange(256)
SCALES = st.floats(-20.0, 1.74).map(math.exp)
FACTOR_ERROR = 2.0**-15 / math.e
"""y * exp(-y) is 1 / e at most, so a factor wrong by 2**-15 moves exp(-y) by no more."""


def test_the_polynomial_over_every_t():
    """All that a distance and a scale can come to: t, itself the rounding of any y within half."""
    t = torch.arange(T_LIMIT + 1)
    e = halved(*polynomial(t)).double() / POLYNOMIAL_ONE
    for edge in (-0.5, 0.5):
        exact = (-(t.double() + edge).clamp(min=0) * (math.log(2) / OCTAVE)).exp()
        error = (e - exact).abs()
        assert error.max() + FACTOR_ERROR <= EXPONENTIAL_BOUND
        assert (error + FACTOR_ERROR * exact <= RELATIVE_BOUND * exact + ABSOLUTE_BOUND).all()


@settings(max_examples=200)
@given(SCALES)
def test_every_distance_by_the_polynomial_and_by_the_table(scale):
    factor = distance_factor(scale)
    exact = (-D.double() * scale).exp()
    e = exponentials(D, "polynomial", factor.multiplier, factor.shift, None).double()
    assert (e / POLYNOMIAL_ONE - exact).abs().max() <= EXPONENTIAL_BOUND
    table = exponential_table(scale)
    assert (table.double() / ONE - exact).abs().max() <= TABLE_BOUND
    assert (e - table.double()).abs().max() <= (EXPONENTIAL_BOUND + 1e-3) * ONE
    weights = weight_table(scale)
    assert (weights.double() / 127 - exact).abs().max() <= 0.5 / 127
    assert (table.dtype, weights.dtype) == (torch.int16, torch.int8)


@given(SCALES)
def test_t_is_within_half_a_step(scale):
    factor = distance_factor(scale)
    exact = (D.double() * (scale * OCTAVE / math.log(2))).clamp(max=T_LIMIT)
    t = scaled_distance(D, factor.multiplier, factor.shift).double()
    assert ((t - exact).abs() <= 0.5 + exact * 2.0**-15).all()
    assert factor.shift <= 31


def test_a_step_that_leaves_nothing_to_the_next_score_is_refused():
    with pytest.raises(QuantizationError) as error:
        distance_factor(6.0)
    assert str(error.value) == (
        "scale overflow: a softmax of scores with a step of 6 keeps the largest alone\n"
        "  why: exp(-6) is 2.5e-03 for the next smaller score\n"
        "  fix: choose a smaller range for the scores"
    )


@pytest.mark.parametrize("make", [distance_factor, exponential_table, weight_table, context_factor])
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_scale_is_refused(make, scale):
    with pytest.raises(QuantizationError, match=f"{scale} is no scale"):
        make(scale)


@given(st.floats(1e-4, 1e3))
def test_context_factor(scale):
    numerator, shift = context_factor(scale)
    assert 2**29 <= numerator < 2**30
    assert abs(math.ldexp(numerator, -shift) - scale) <= scale * 2.0**-29
