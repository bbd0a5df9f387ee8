"""The memory layout that PyTorch gives the result of an elementwise operator."""

from __future__ import annotations

from forge_ugc.npuir.types import DType, TensorType, contiguous_strides


def like(x: TensorType, dtype: DType | None = None) -> TensorType:
    """Shape of x, elements packed without gaps in the order in which x has them in memory.

    A dense x keeps its strides, so a transposed x gives a transposed result. This is what
    TensorIterator does for one operand, or for several whose layouts agree with the first.
    """
    if x.is_dense:
        return x if dtype is None else x.with_dtype(dtype)
    order = sorted(range(x.rank), key=lambda axis: -x.strides[axis])
    strides = [0] * x.rank
    packed = contiguous_strides([x.shape[axis] for axis in order])
    for axis, stride in zip(order, packed, strict=True):
        strides[axis] = stride
    return TensorType.of(dtype or x.dtype, x.shape, strides)
