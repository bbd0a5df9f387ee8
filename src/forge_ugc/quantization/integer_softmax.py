"""Parameters of the integer softmax: tables, factors of the polynomial, and error bounds."""

from __future__ import annotations

import math

import numpy as np
import torch

from forge_ugc.errors import QuantizationError
from forge_ugc.ops.core.integer import MULTIPLIER_LIMIT
from forge_ugc.ops.core.integer_exp import (
    DISTANCE_SHIFT_LIMIT,
    DISTANCES,
    OCTAVE,
    ONE,
    WEIGHT_BITS,
)
from forge_ugc.quantization.dyadic import Dyadic, dyadic, nearest

POLYNOMIAL_ONE = 16242.83
"""What the polynomial's exponentials approximate multiples of; for d = 0 it gives ONE."""
EXPONENTIAL_BOUND = 1.3e-3
"""Of |e / POLYNOMIAL_ONE - exp(-d * scale)|, over every d and every scale."""
RELATIVE_BOUND, ABSOLUTE_BOUND = 3.2e-3, 3.2e-5
"""The same error is at most exp(-d * scale) times the first, plus the second."""
TABLE_BOUND = 0.5 / ONE
NUMERATOR_BITS = 30
"""Of the numerator that attention divides by the sum of a row's weights."""


def distance_factor(scale: float) -> Dyadic:
    """The factor from a distance of scores to t, for scores whose step stands for `scale`.

    Raises:
        QuantizationError: the scale is not positive and finite, or above 5.7, where the largest
            score of 8 bits leaves nothing to the next.
    """
    if not (math.isfinite(scale) and scale > 0):
        dyadic(scale)  # says what is wrong with it
    wanted = scale * OCTAVE / math.log(2)
    if wanted >= MULTIPLIER_LIMIT - 0.5:
        raise QuantizationError(
            f"scale overflow: a softmax of scores with a step of {scale:g} keeps the largest alone",
            why=f"exp(-{scale:g}) is {math.exp(-scale):.1e} for the next smaller score",
            fix="choose a smaller range for the scores",
        )
    if wanted * DISTANCES < 0.5:  # then t is 0 for every distance
        return Dyadic(multiplier=1, shift=DISTANCE_SHIFT_LIMIT)
    return dyadic(wanted)


def exponential_table(scale: float) -> torch.Tensor:
    """round(ONE * exp(-d * scale)) for d of 0 to 255: i16[256], for `int8_softmax`.

    Raises:
        QuantizationError: the scale is not positive and finite.
    """
    return torch.from_numpy(np.rint(ONE * _exact(scale)).astype(np.int16))


def weight_table(scale: float) -> torch.Tensor:
    """round(127 * exp(-d * scale)) for d of 0 to 255: i8[256], for `int8_attention`.

    Raises:
        QuantizationError: the scale is not positive and finite.
    """
    return torch.from_numpy(np.rint((ONE >> WEIGHT_BITS) * _exact(scale)).astype(np.int8))


def _exact(scale: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if not (math.isfinite(scale) and scale > 0):
        dyadic(scale)  # says what is wrong with it
    return np.exp(-scale * np.arange(DISTANCES, dtype=np.float64))


def context_factor(scale: float) -> tuple[int, int]:
    """(numerator, shift) of attention with softmax: out = weighted mean of v * scale.

    The numerator has 30 bits, so that its product with a sum of weights and values stays
    below 2**37.

    Raises:
        QuantizationError: the scale is not positive and finite, or out of range.
    """
    return nearest(scale, NUMERATOR_BITS)


def probability_bound(columns: int, *, method: str, bits: int) -> float:
    """Largest error of a probability of `int8_softmax`, q / (2**bits - 1), over every row.

    With every exponential wrong by a share r and by a at most, the error of a probability is
    r / 2 / (1 - r) from the first, as p * (1 - p) is at most a quarter, and
    a * (1 + columns) / (1 - r - a * columns) from the second, as the sum is at least one; the rest
    is the rounding of the result and of the reciprocal.
    """
    r, a = (0.0, TABLE_BOUND) if method == "table" else (RELATIVE_BOUND, ABSOLUTE_BOUND)
    shares = r / 2 / (1 - r) + a * (1 + columns) / (1 - r - a * columns)
    return shares + (0.5 + 2**-6) / ((1 << bits) - 1)
