"""Type rule, meaning and cost that every operator with a weight matrix shares."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import Cost
from forge_ugc.ops.core.result_type import result_type


def linear_type(
    x: TensorType,
    w: TensorType,
    b: TensorType | None,
    x_scale: TensorType | None = None,
    w_scale: TensorType | None = None,
    dtype: str | None = None,
) -> TensorType:
    """Type of x @ w.T + b, row-major, with x[..., in], w[out, in], b[out].

    x and w have one floating-point type, or both are i8 with their scales: x_scale f32[...], one
    for each row of x, and w_scale f32[out]. Without `dtype` b and the result are of x's type too;
    with it the result has that type, and b is f32 or bf16.

    Raises:
        VerificationError: shapes or dtypes do not fit.
    """
    quantized = x_scale is not None or w_scale is not None
    if not x.rank or not (x.dtype is DType.I8 if quantized else x.dtype.is_float):
        wanted = "i8" if quantized else "floating point"
        raise VerificationError(f"x must be {wanted} with a last axis, is {x}")
    if w.rank != 2:
        raise VerificationError(f"weight must have two axes [out, in], is {w}")
    if w.shape[1] != x.shape[-1]:
        raise VerificationError(f"weight is {w}, expected [out,{x.shape[-1]}] for x {x}")
    if w.dtype is not x.dtype:
        raise VerificationError(f"weight is {w}, expected dtype {x.dtype.value} of x")
    if quantized:
        _check_scales(x, w, x_scale, w_scale, dtype)
    if b is not None and b.shape != w.shape[:1]:
        raise VerificationError(f"bias is {b}, expected [{w.shape[0]}]")
    if b is not None and dtype is None and b.dtype is not x.dtype:
        raise VerificationError(f"bias is {b}, expected dtype {x.dtype.value} of x")
    if b is not None and dtype is not None and b.dtype not in (DType.F32, DType.BF16):
        raise VerificationError(f"bias is {b}, expected dtype f32 or bf16")
    return TensorType.of(result_type(dtype, x.dtype), (*x.shape[:-1], w.shape[0]))


def _check_scales(
    x: TensorType,
    w: TensorType,
    x_scale: TensorType | None,
    w_scale: TensorType | None,
    dtype: str | None,
) -> None:
    for name, scale, shape in (("x", x_scale, x.shape[:-1]), ("w", w_scale, w.shape[:1])):
        wanted = TensorType.of(DType.F32, shape)
        if scale != wanted:
            raise VerificationError(f"the scale of {name} is {scale}, expected {wanted}")
    if dtype is None:
        raise VerificationError("a product of i8 needs the dtype of its result")


def product(
    x: torch.Tensor,
    w: torch.Tensor,
    b: torch.Tensor | None,
    x_scale: torch.Tensor | None = None,
    w_scale: torch.Tensor | None = None,
    dtype: str | None = None,
) -> torch.Tensor:
    """The product x @ w.T + b: in x's type without `dtype`, else in f32.

    Products of i8 are summed exactly, then scaled: sum * x_scale * w_scale + b.
    """
    if dtype is None:
        return F.linear(x, w, b)
    bias = None if b is None else b.float()
    if x_scale is None or w_scale is None:
        return F.linear(x.float(), w.float(), bias)
    # f64 holds every sum of products of i8 exactly, whatever its order.
    y = F.linear(x.double(), w.double()).float() * x_scale[..., None] * w_scale
    return y if bias is None else y + bias


def linear_cost(x: TensorType, w: TensorType, b: TensorType | None, y: TensorType) -> Cost:
    """One multiplication and one addition per weight and row; x is counted as read once."""
    rows = y.numel // w.shape[0] if w.shape[0] else 0
    moved = x.size_bytes + w.size_bytes + y.size_bytes + (b.size_bytes if b else 0)
    return Cost(2 * rows * w.numel + (y.numel if b else 0), moved)
