"""Dyadic factors: a real scale as an integer multiplier and a shift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import torch

from forge_ugc.errors import QuantizationError
from forge_ugc.ops.core.integer import INT32, MULTIPLIER_LIMIT, SHIFT_LIMIT, requantize

MULTIPLIER_BITS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Dyadic:
    """The factor multiplier / 2**shift: 1 <= multiplier < 2**15, 0 <= shift <= 47.

    Raises:
        QuantizationError: a field is out of range.
    """

    multiplier: int
    shift: int

    def __post_init__(self) -> None:
        if not (0 < self.multiplier < MULTIPLIER_LIMIT and 0 <= self.shift <= SHIFT_LIMIT):
            raise QuantizationError(
                f"{self.multiplier} / 2**{self.shift} is no factor of a requantisation",
                why=f"the multiplier must be 1 to {MULTIPLIER_LIMIT - 1}, "
                f"the shift 0 to {SHIFT_LIMIT}",
            )

    @property
    def value(self) -> float:
        """The factor; exact in f64."""
        return math.ldexp(self.multiplier, -self.shift)

    def apply(self, acc: torch.Tensor, lo: int = -128, hi: int = 127) -> torch.Tensor:
        """clip(round_half_even(acc * factor), lo, hi) as i64. acc: i32|i64."""
        return requantize(acc, self.multiplier, self.shift, lo, hi)

    def __str__(self) -> str:
        return f"{self.multiplier} / 2**{self.shift}"


def dyadic(scale: float, *, bits: int = MULTIPLIER_BITS) -> Dyadic:
    """The factor nearest to a scale with a multiplier of at most `bits` bits, in lowest terms.

    The relative error is at most 2**-bits, as long as the scale is 2**-(48 - bits) or more; a
    smaller one keeps fewer bits.

    Raises:
        QuantizationError: the scale is not positive and finite, or out of range.
    """
    multiplier, shift = nearest(scale, bits)
    while shift > 0 and multiplier % 2 == 0:
        multiplier, shift = multiplier >> 1, shift - 1
    return Dyadic(multiplier=multiplier, shift=shift)


def nearest(scale: float, bits: int) -> tuple[int, int]:
    """(multiplier, shift) nearest to a scale: multiplier below 2**bits, shift 0 to 47.

    The multiplier has all of its bits as far as the shift allows; halves go to the even one.

    Raises:
        QuantizationError: the scale is not positive and finite, or out of range.
    """
    if not (math.isfinite(scale) and scale > 0):
        raise QuantizationError(
            f"{scale} is no scale", fix="give a positive, finite number: what one step stands for"
        )
    exact = Fraction(scale)
    shift = min(bits - math.frexp(scale)[1], SHIFT_LIMIT)
    multiplier = round(exact * Fraction(2) ** shift)
    if multiplier == 1 << bits:
        multiplier, shift = multiplier >> 1, shift - 1
    if shift < 0 or multiplier == 0:
        raise QuantizationError(
            f"scale overflow: {scale:g} is out of range",
            why=f"a factor reaches from 2**-{SHIFT_LIMIT} to {(1 << bits) - 1}",
            fix="choose scales of the layer's inputs and outputs that are closer to each other",
        )
    return multiplier, shift


def common_shift(a: float, b: float) -> tuple[int, int, int]:
    """(multiplier of a, multiplier of b, shift): the larger scale keeps 15 bits.

    Raises:
        QuantizationError: a scale is not positive and finite, or out of range, or the smaller one
            is nothing beside the larger.
    """
    large, small = max(a, b), min(a, b)
    multiplier, shift = nearest(large, MULTIPLIER_BITS)
    nearest(small, MULTIPLIER_BITS)  # says what is wrong with it
    other = round(Fraction(small) * Fraction(2) ** shift)
    if other == 0:
        raise QuantizationError(
            f"scale overflow: {small:g} is nothing beside {large:g}",
            why=f"with the larger in {MULTIPLIER_BITS} bits the smaller rounds to 0",
            fix="choose scales of the layer's inputs that are closer to each other",
        )
    while shift > 0 and multiplier % 2 == 0 and other % 2 == 0:
        multiplier, other, shift = multiplier >> 1, other >> 1, shift - 1
    return (multiplier, other, shift) if a >= b else (other, multiplier, shift)


def sum_bound(weight: torch.Tensor, bias: torch.Tensor | None = None) -> int:
    """Largest magnitude of x @ w.T + b over every i8 x: exact. weight: i8[N, K], bias: i32[N].

    Raises:
        QuantizationError: it does not fit 32 bits.
    """
    rows = weight.long().abs().sum(-1) * 128
    total = rows if bias is None else rows + bias.long().abs()
    worst = int(total.max()) if total.numel() else 0
    if worst >= INT32:
        raise QuantizationError(
            "scale overflow: a sum does not fit 32 bits",
            why=f"with i8 inputs output {int(total.argmax())} may reach {worst}, "
            f"the limit is {INT32 - 1}",
            fix="give the bias a larger scale, or split the layer's inputs",
        )
    return worst


def accumulator_factor(largest: int) -> Dyadic:
    """The factor that maps sums of at most this magnitude to -127..127; 1 if they fit already."""
    return dyadic(127 / largest) if largest > 127 else Dyadic(multiplier=1, shift=0)
