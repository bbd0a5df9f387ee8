"""Exact rounding, requantisation and the checks of ranges."""

import pytest
import torch
from exact_integers import requantized
from hypothesis import given
from hypothesis import strategies as st

from forge_ugc.errors import QuantizationError, VerificationError
from forge_ugc.ops.core.integer import check_dyadic, check_int32, requantize, round_shift


@given(st.integers(-(2**46), 2**46), st.integers(0, 47))
def test_round_shift_is_the_nearest_with_halves_to_even(x, shift):
    assert int(round_shift(torch.tensor(x), shift)) == requantized(x, 1, shift, -(2**47), 2**47)


@given(st.integers(-40, 40), st.integers(1, 30))
def test_ties_at_one_half(n, shift):
    tie = (2 * n + 1) << (shift - 1)
    assert int(round_shift(torch.tensor(tie), shift)) == (n if n % 2 == 0 else n + 1)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 2**15 - 1), st.integers(0, 47))
def test_requantize(acc, multiplier, shift):
    got = int(requantize(torch.tensor(acc, dtype=torch.int32), multiplier, shift))
    assert got == requantized(acc, multiplier, shift)


def test_requantize_saturates_at_both_ends():
    acc = torch.tensor([-(2**31), 2**31 - 1])
    assert requantize(acc, 2**15 - 1, 0).tolist() == [-128, 127]
    assert requantize(acc, 1, 0, 0).tolist() == [0, 127]


def test_a_sum_that_does_not_fit_is_refused():
    acc = torch.tensor([5, -(2**31) - 1])
    with pytest.raises(QuantizationError) as error:
        check_int32(acc, "int8_linear")
    assert str(error.value) == (
        "scale overflow: a sum of int8_linear does not fit 32 bits\n"
        "  why: its magnitude is 2147483649, the limit is 2147483647\n"
        "  fix: give the bias a larger scale, or split the layer's inputs"
    )
    assert check_int32(torch.tensor([-(2**31), 2**31 - 1]), "x").numel() == 2


@pytest.mark.parametrize(("multiplier", "shift"), [(0, 1), (32768, 1), (1, -1), (1, 48)])
def test_factors_out_of_range_are_refused(multiplier, shift):
    with pytest.raises(VerificationError) as error:
        check_dyadic(multiplier, shift, "the factor")
    assert str(error.value) == (
        f"the factor is {multiplier} / 2**{shift}, expected 1 <= multiplier < 32768 "
        "and 0 <= shift <= 47"
    )
