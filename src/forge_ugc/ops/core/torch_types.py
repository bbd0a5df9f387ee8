"""Conversion between PyTorch's tensor metadata and NPUIR types."""

from __future__ import annotations

import torch

from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.npuir.types import DType, TensorType

_TO_TORCH = {
    DType.F64: torch.float64, DType.F32: torch.float32, DType.F16: torch.float16,
    DType.BF16: torch.bfloat16, DType.I64: torch.int64, DType.I32: torch.int32,
    DType.I16: torch.int16, DType.I8: torch.int8, DType.U8: torch.uint8, DType.BOOL: torch.bool,
    DType.C64: torch.complex64, DType.C128: torch.complex128,
}  # fmt: skip
_FROM_TORCH = {value: key for key, value in _TO_TORCH.items()}


def to_torch(dtype: DType) -> torch.dtype:
    """The PyTorch dtype of an NPUIR dtype."""
    return _TO_TORCH[dtype]


def from_torch(dtype: torch.dtype) -> DType:
    """The NPUIR dtype of a PyTorch dtype.

    Raises:
        UnsupportedOperatorError: NPUIR has no such element type.
    """
    found = _FROM_TORCH.get(dtype)
    if found is None:
        raise UnsupportedOperatorError(
            f"NPUIR has no element type for {dtype}",
            fix=f"cast to one of {', '.join(d.value for d in DType)}",
        )
    return found


def type_of(tensor: torch.Tensor) -> TensorType:
    """The NPUIR type of a tensor (real, fake or meta): dtype, shape, canonical strides."""
    return TensorType.of(from_torch(tensor.dtype), tensor.shape, tensor.stride())


def empty(kind: TensorType, device: str = "cpu") -> torch.Tensor:
    """An uninitialised tensor with exactly this type."""
    return torch.empty_strided(kind.shape, kind.strides, dtype=to_torch(kind.dtype), device=device)
