"""Dyadic factors: the nearest one, rounding, and proofs of range."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from forge_ugc.errors import QuantizationError
from forge_ugc.quantization.dyadic import (
    Dyadic,
    accumulator_factor,
    common_shift,
    dyadic,
    sum_bound,
)


@given(st.floats(2.0**-33, 32767.0))
def test_a_scale_has_a_factor_within_two_to_the_minus_15(scale):
    found = dyadic(scale)
    assert abs(found.value - scale) <= scale * 2.0**-15
    assert found.shift == 0 or found.multiplier % 2


@given(st.integers(1, 2**15 - 1), st.integers(0, 47))
def test_what_is_a_factor_stays_one(multiplier, shift):
    assert dyadic(math.ldexp(multiplier, -shift)).value == math.ldexp(multiplier, -shift)


def test_it_is_in_lowest_terms():
    assert str(dyadic(1.0)) == "1 / 2**0"
    assert str(dyadic(0.5)) == "1 / 2**1"
    assert str(dyadic(0.1)) == "13107 / 2**17"
    assert str(dyadic(2.0**-47)) == "1 / 2**47"


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_scale_is_refused(scale):
    with pytest.raises(QuantizationError) as error:
        dyadic(scale)
    assert str(error.value) == (
        f"{scale} is no scale\n  fix: give a positive, finite number: what one step stands for"
    )


@pytest.mark.parametrize("scale", [32768.0, 2.0**-49])
def test_what_is_out_of_range_is_refused(scale):
    with pytest.raises(QuantizationError) as error:
        dyadic(scale)
    assert str(error.value) == (
        f"scale overflow: {scale:g} is out of range\n"
        "  why: a factor reaches from 2**-47 to 32767\n"
        "  fix: choose scales of the layer's inputs and outputs that are closer to each other"
    )


@pytest.mark.parametrize(("multiplier", "shift"), [(0, 0), (1 << 15, 0), (1, 48), (1, -1)])
def test_fields_are_checked(multiplier, shift):
    with pytest.raises(QuantizationError) as error:
        Dyadic(multiplier=multiplier, shift=shift)
    assert str(error.value) == (
        f"{multiplier} / 2**{shift} is no factor of a requantisation\n"
        "  why: the multiplier must be 1 to 32767, the shift 0 to 47"
    )


def test_apply_rounds_halves_to_even_and_saturates():
    half = dyadic(0.5)
    acc = torch.tensor([-3, -1, 1, 3, 5, 300, -300], dtype=torch.int32)
    assert half.apply(acc).tolist() == [-2, 0, 0, 2, 2, 127, -128]
    assert half.apply(acc, 0).tolist() == [0, 0, 0, 2, 2, 127, 0]


def test_sum_bound_is_reached():
    w = torch.tensor([[127, -128], [1, 1]], dtype=torch.int8)
    b = torch.tensor([-5, 1000], dtype=torch.int32)
    assert sum_bound(w) == 128 * 255
    assert sum_bound(w, b) == 128 * 255 + 5
    assert sum_bound(w[:0]) == 0


def test_sum_bound_refuses():
    w = torch.full((2, 1), 1, dtype=torch.int8)
    b = torch.tensor([0, 2**31 - 128], dtype=torch.int32)
    with pytest.raises(QuantizationError) as error:
        sum_bound(w, b)
    assert str(error.value) == (
        "scale overflow: a sum does not fit 32 bits\n"
        "  why: with i8 inputs output 1 may reach 2147483648, the limit is 2147483647\n"
        "  fix: give the bias a larger scale, or split the layer's inputs"
    )


@given(st.integers(0, 2**31 - 1))
def test_accumulator_factor_fills_the_bytes(largest):
    factor = accumulator_factor(largest)
    got = int(factor.apply(torch.tensor(largest)))
    assert got == (largest if largest <= 127 else 127)


@given(st.floats(2.0**-20, 7.0), st.floats(2.0**-12, 2.0**12))
def test_common_shift(a, ratio):
    b = a * ratio
    ma, mb, shift = common_shift(a, b)
    assert 0 < ma < 2**15
    assert 0 < mb < 2**15
    largest = max(a, b)
    for scale, multiplier in ((a, ma), (b, mb)):
        assert abs(math.ldexp(multiplier, -shift) - scale) <= largest * 2.0**-15


def test_a_scale_that_is_nothing_beside_the_other_is_refused():
    with pytest.raises(QuantizationError) as error:
        common_shift(1e-6, 1.0)
    assert str(error.value) == (
        "scale overflow: 1e-06 is nothing beside 1\n"
        "  why: with the larger in 15 bits the smaller rounds to 0\n"
        "  fix: choose scales of the layer's inputs that are closer to each other"
    )
