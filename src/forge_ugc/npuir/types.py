"""Types of NPUIR registers: element type, shape and memory layout."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


class DType(enum.Enum):
    """Element type; the value is the name in NPUIR text."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    U8 = "u8"
    BOOL = "bool"
    C64 = "c64"
    C128 = "c128"

    @property
    def size_bytes(self) -> int:
        """Bytes of one element."""
        return _SIZE_BYTES[self]

    @property
    def is_float(self) -> bool:
        """True for real floating-point types."""
        return self in _FLOATS


_SIZE_BYTES = {
    DType.F64: 8, DType.F32: 4, DType.F16: 2, DType.BF16: 2, DType.I64: 8, DType.I32: 4,
    DType.I16: 2, DType.I8: 1, DType.U8: 1, DType.BOOL: 1, DType.C64: 8, DType.C128: 16,
}  # fmt: skip
_FLOATS = frozenset({DType.F64, DType.F32, DType.F16, DType.BF16})


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements; a dimension of size 0 counts as 1, as in PyTorch."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


@dataclass(frozen=True, eq=True)
class TensorType:
    """`f32[2,3]`, or with strides in elements where they are not row-major: `f32[2,3]{1,2}`.

    Build it with `TensorType.of`, which brings strides to their one canonical form: the stride of
    a dimension of size one and every stride of an empty tensor carry no meaning, so they are those
    of the row-major layout. Two types are then equal exactly if they describe the same addresses.
    """

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    # Types are compared and hashed for every node, time and again: the common cases first, and no
    # hash of an enumeration's member, which Python makes of its name.
    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TensorType):
            return NotImplemented
        return (
            self.shape == other.shape
            and self.dtype is other.dtype
            and self.strides == other.strides
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.strides))

    @classmethod
    def of(
        cls, dtype: DType, shape: Sequence[int], strides: Sequence[int] | None = None
    ) -> TensorType:
        """The type with canonical strides; `strides=None` means row-major."""
        dims = tuple(shape)
        row_major = contiguous_strides(dims)
        if strides is None or 0 in dims:
            return cls(dtype, dims, row_major)
        step, canonical = 1, list(strides)
        for axis in range(len(dims) - 1, -1, -1):
            if dims[axis] == 1:
                canonical[axis] = step
            step = canonical[axis] * dims[axis]
        if all(d == 1 or s == r for d, s, r in zip(dims, canonical, row_major, strict=True)):
            return cls(dtype, dims, row_major)
        return cls(dtype, dims, tuple(canonical))

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @cached_property
    def numel(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """True if elements lie in row-major order without gaps."""
        return self.strides == contiguous_strides(self.shape)

    @cached_property
    def is_dense(self) -> bool:
        """True if elements fill their span exactly once: some permutation is row-major."""
        step = 1
        pairs = zip(self.strides, self.shape, strict=True)
        for stride, size in sorted(p for p in pairs if p[1] != 1):
            if stride != step:
                return self.numel == 0
            step *= size
        return True

    @cached_property
    def size_bytes(self) -> int:
        """Bytes from the first to past the last element; 0 for an empty tensor."""
        if self.numel == 0:
            return 0
        last = sum((d - 1) * s for d, s in zip(self.shape, self.strides, strict=True))
        return (last + 1) * self.dtype.size_bytes

    def contiguous(self) -> TensorType:
        """The same elements in row-major order."""
        return TensorType.of(self.dtype, self.shape)

    def with_dtype(self, dtype: DType) -> TensorType:
        """The same shape and strides with another element type."""
        return TensorType(dtype, self.shape, self.strides)

    def __str__(self) -> str:
        text = f"{self.dtype.value}[{','.join(map(str, self.shape))}]"
        return text if self.is_contiguous else text + "{" + ",".join(map(str, self.strides)) + "}"
