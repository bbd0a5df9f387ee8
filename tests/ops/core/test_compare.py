"""Comparison within bounds that follow from the dtype."""

import math

import pytest
import torch

from forge_ugc.errors import VerificationError
from forge_ugc.ops.core.compare import assert_close, largest_difference, tolerance


def test_the_bound_grows_with_the_root_of_the_sum_and_is_zero_for_integers():
    eps = torch.finfo(torch.float32).eps
    assert tolerance(torch.float32) == 12 * eps
    assert tolerance(torch.float32, 100) == 84 * eps
    assert tolerance(torch.bfloat16) == 8 * eps + 4 * 2**-7
    assert tolerance(torch.int64, 100) == 0.0


def test_a_difference_just_over_the_bound_is_refused_and_one_under_it_is_not():
    want = torch.tensor([2.0, 4.0])
    bound = tolerance(torch.float32) * 4
    assert_close(want + torch.tensor([0.9 * bound, 0]), want, torch.float32)
    with pytest.raises(VerificationError) as caught:
        assert_close(want + torch.tensor([1.2 * bound, 0]), want, torch.float32)
    assert str(caught.value) == (
        "the result differs by 6.91e-06\n  why: torch.float32 with sums of 1 terms allows 5.72e-06"
    )


def test_nan_equals_nan_and_infinity_its_like_only():
    values = torch.tensor([math.nan, math.inf, -math.inf, 0.0])
    assert largest_difference(values, values.clone()) == 0.0
    for index in range(3):
        other = values.clone()
        other[index] = 1.0
        assert largest_difference(values, other) == math.inf
        with pytest.raises(VerificationError):
            assert_close(values, other, torch.float32)
    with pytest.raises(VerificationError):
        assert_close(-values, values, torch.float32)


def test_integers_are_exact_beyond_what_a_float_holds():
    a = torch.tensor([2**60])
    assert largest_difference(a + 1, a) == 1.0
    with pytest.raises(VerificationError):
        assert_close(a + 1, a, torch.float32)


@pytest.mark.parametrize("other", [torch.zeros(2, 1), torch.zeros(2, dtype=torch.float64)])
def test_shape_and_dtype_must_agree(other):
    with pytest.raises(VerificationError, match="expected f32"):
        assert_close(other, torch.zeros(2), torch.float32)


def test_empty_and_boolean_tensors():
    assert_close(torch.ones(0), torch.ones(0), torch.float32)
    assert_close(torch.tensor([True]), torch.tensor([True]), torch.float32)
    with pytest.raises(VerificationError):
        assert_close(torch.tensor([True]), torch.tensor([False]), torch.float32)
