"""Type rule and cost that every operator with a weight matrix shares."""

from __future__ import annotations

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.op import Cost, require


def linear_type(x: TensorType, w: TensorType, b: TensorType | None) -> TensorType:
    """Type of x @ w.T + b, row-major. x: float[..., in], w: [out, in], b: [out] of x's dtype.

    Raises:
        VerificationError: shapes or dtypes do not fit.
    """
    require(x.dtype.is_float and x.rank >= 1, f"x must be floating point with a last axis, is {x}")
    require(w.rank == 2, f"weight must have two axes [out, in], is {w}")
    require(w.shape[1] == x.shape[-1], f"weight is {w}, expected [out,{x.shape[-1]}] for x {x}")
    require(w.dtype == x.dtype, f"weight is {w}, expected dtype {x.dtype.value} of x")
    if b is not None:
        require(b.shape == w.shape[:1], f"bias is {b}, expected [{w.shape[0]}]")
        require(b.dtype == x.dtype, f"bias is {b}, expected dtype {x.dtype.value} of x")
    return TensorType.of(x.dtype, (*x.shape[:-1], w.shape[0]))


def linear_cost(x: TensorType, w: TensorType, b: TensorType | None) -> Cost:
    """One multiplication and one addition per weight and row; x is counted as read once."""
    out = linear_type(x, w, b)
    rows = out.numel // w.shape[0] if w.shape[0] else 0
    moved = x.size_bytes + w.size_bytes + out.size_bytes + (b.size_bytes if b else 0)
    return Cost(2 * rows * w.numel + (out.numel if b else 0), moved)
