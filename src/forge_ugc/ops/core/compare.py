"""Comparison of tensors within a bound that follows from their dtype."""

from __future__ import annotations

import math

import torch

from forge_ugc.errors import VerificationError
from forge_ugc.ops.core.torch_types import type_of


def tolerance(dtype: torch.dtype, reduce_len: int = 1) -> float:
    """Relative bound for two ways to compute one result; 0 for integers and booleans.

    A sum of n terms in fp32 (fp64 for double) differs by about sqrt(n) roundings between two
    orders; a narrower dtype adds the roundings of what is stored. Factor 8 leaves room for a chain
    of such operators. Source: Higham 2002, "Accuracy and Stability of Numerical Algorithms", 3.1.
    """
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    wide = torch.float64 if dtype in {torch.float64, torch.complex128} else torch.float32
    summed = 8.0 * math.sqrt(max(reduce_len, 1)) * torch.finfo(wide).eps
    return summed + 4.0 * torch.finfo(dtype).eps


def largest_difference(got: torch.Tensor, want: torch.Tensor) -> float:
    """The largest absolute difference of two tensors; equal infinities and NaNs differ by 0.

    A NaN or infinity on one side alone differs by infinity.
    """
    if got.numel() == 0:
        return 0.0
    wide = torch.complex128 if got.is_complex() else torch.float64
    if not (got.is_floating_point() or got.is_complex()):
        wide = torch.int64
    a, b = got.to(wide), want.to(wide)
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, 0.0, (a - b).abs().double())
    return float(torch.nan_to_num(difference, nan=math.inf, posinf=math.inf).max())


def assert_close(
    got: torch.Tensor, want: torch.Tensor, dtype: torch.dtype, reduce_len: int = 1
) -> None:
    """Check that two tensors agree in shape, dtype and, within the bound, in value.

    Args:
        dtype: the dtype in which the results were computed; sets the rounding.
        reduce_len: terms of the longest sum behind an element.

    Raises:
        VerificationError: with the largest difference and the bound. The bound is `tolerance`
            times the largest finite magnitude of `want`, but at least of 1.
    """
    if got.shape != want.shape or got.dtype != want.dtype:
        raise VerificationError(f"the result is {type_of(got)}, expected {type_of(want)}")
    found = largest_difference(got, want)
    bound = 0.0
    if want.is_floating_point() or want.is_complex():
        finite = want[want.isfinite()].abs().double()
        magnitude = max(float(finite.max()) if finite.numel() else 0.0, 1.0)
        bound = tolerance(dtype, reduce_len) * magnitude
    if not found <= bound:
        raise VerificationError(
            f"the result differs by {found:.3g}",
            why=f"{dtype} with sums of {reduce_len} terms allows {bound:.3g}",
        )
