"""The attribute `dtype` of operators whose result may have another type than their operands."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.op import require
from forge_ugc.ops.core.torch_types import to_torch

RESULT_TYPES = ("f32", "bf16")


def result_type(dtype: str | None, default: DType) -> DType:
    """The element type that the attribute names, or `default` if it is absent.

    Raises:
        VerificationError: no such type, or the operand is of a type that only stands alone.
    """
    if dtype is None:
        return default
    require(dtype in RESULT_TYPES, f"dtype is {dtype!r}, expected one of {', '.join(RESULT_TYPES)}")
    mixes = default in (DType.F32, DType.BF16, DType.I8)
    require(mixes, f"dtype = {dtype!r} goes with operands of f32, bf16 or i8, not {default.value}")
    return DType(dtype)


def rounded(y: torch.Tensor, dtype: str) -> torch.Tensor:
    """The f32 value in the type that the attribute names, rounded to nearest even."""
    return y.to(to_torch(DType(dtype)))
