"""Type rule and cost that every operator with a weight matrix shares."""

from __future__ import annotations

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.op import Cost


def linear_type(x: TensorType, w: TensorType, b: TensorType | None) -> TensorType:
    """Type of x @ w.T + b, row-major. x: float[..., in], w: [out, in], b: [out] of x's dtype.

    Raises:
        VerificationError: shapes or dtypes do not fit.
    """
    if not x.dtype.is_float or not x.rank:
        raise VerificationError(f"x must be floating point with a last axis, is {x}")
    if w.rank != 2:
        raise VerificationError(f"weight must have two axes [out, in], is {w}")
    if w.shape[1] != x.shape[-1]:
        raise VerificationError(f"weight is {w}, expected [out,{x.shape[-1]}] for x {x}")
    if w.dtype is not x.dtype:
        raise VerificationError(f"weight is {w}, expected dtype {x.dtype.value} of x")
    if b is not None and b.shape != w.shape[:1]:
        raise VerificationError(f"bias is {b}, expected [{w.shape[0]}]")
    if b is not None and b.dtype is not x.dtype:
        raise VerificationError(f"bias is {b}, expected dtype {x.dtype.value} of x")
    return TensorType.of(x.dtype, (*x.shape[:-1], w.shape[0]))


def linear_cost(x: TensorType, w: TensorType, b: TensorType | None) -> Cost:
    """One multiplication and one addition per weight and row; x is counted as read once."""
    out = linear_type(x, w, b)
    rows = out.numel // w.shape[0] if w.shape[0] else 0
    moved = x.size_bytes + w.size_bytes + out.size_bytes + (b.size_bytes if b else 0)
    return Cost(2 * rows * w.numel + (out.numel if b else 0), moved)
