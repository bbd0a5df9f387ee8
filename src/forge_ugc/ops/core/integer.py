"""Exact integer arithmetic of the int8 operators."""

from __future__ import annotations

import torch

from forge_ugc.errors import QuantizationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import require

MULTIPLIER_LIMIT = 1 << 15
SHIFT_LIMIT = 47
INT32 = 1 << 31
DEPTH_LIMIT = (INT32 - 1) >> 14
"""So many products of two i8 always fit an i32 sum."""


def round_shift(x: torch.Tensor, shift: int) -> torch.Tensor:
    """Divide by 2**shift, rounded to the nearest integer, halves to the even one; exact. x: i64."""
    if shift == 0:
        return x
    floor = x >> shift
    rest = x - (floor << shift)
    half = 1 << (shift - 1)
    return floor + ((rest > half) | ((rest == half) & ((floor & 1) == 1)))


def requantize(
    acc: torch.Tensor, multiplier: int, shift: int, lo: int = -128, hi: int = 127
) -> torch.Tensor:
    """clip(round_half_even(acc * multiplier / 2**shift), lo, hi), exact. acc: i32|i64, to i64.

    With an i32 acc and a multiplier below 2**15 the product stays below 2**46.
    """
    return round_shift(acc.long() * multiplier, shift).clamp(lo, hi)


def integer_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product, exact, as i64. a: i8[..., M, K], b: i8[..., K, N], K at most `DEPTH_LIMIT`."""
    return (a.int() @ b.int()).long()


def check_int32(acc: torch.Tensor, what: str) -> torch.Tensor:
    """The sums themselves.

    Raises:
        QuantizationError: one does not fit the i32 that a kernel holds it in.
    """
    if acc.numel() and (int(acc.max()) >= INT32 or int(acc.min()) < -INT32):
        largest = max(int(acc.max()), -int(acc.min()))
        raise QuantizationError(
            f"scale overflow: a sum of {what} does not fit 32 bits",
            why=f"its magnitude is {largest}, the limit is {INT32 - 1}",
            fix="give the bias a larger scale, or split the layer's inputs",
        )
    return acc


def check_dyadic(
    multiplier: int,
    shift: int,
    what: str,
    *,
    limit: int = MULTIPLIER_LIMIT,
    shift_limit: int = SHIFT_LIMIT,
) -> None:
    """Type rule of a factor multiplier / 2**shift.

    Raises:
        VerificationError: it is out of range.
    """
    fits = 1 <= multiplier < limit and 0 <= shift <= shift_limit
    require(fits, f"{what} is {multiplier} / 2**{shift}, expected 1 <= multiplier < {limit} "
                  f"and 0 <= shift <= {shift_limit}")  # fmt: skip


def check_activation(name: str, kind: TensorType, rank: int) -> None:
    """Type rule of an i8 operand with at least `rank` axes.

    Raises:
        VerificationError: it is not one.
    """
    fits = kind.dtype is DType.I8 and kind.rank >= rank
    require(fits, f"{name} must be i8 with {rank} axes or more, is {kind}")
