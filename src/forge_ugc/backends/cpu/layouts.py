"""How kernels see the memory of a tensor."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from forge_ugc.npuir.types import DType, TensorType

FLOATS = {DType.F32: 0, DType.BF16: 1}
"""The enum `Float` of csrc/kernels/float.h."""


class Rows(NamedTuple):
    """`rows` rows, `stride` elements apart, each of adjacent elements."""

    rows: int
    stride: int


def rows_of(kind: TensorType) -> Rows | None:
    """All axes but the last as rows of one stride; None if the memory does not allow it.

    A tensor without axes is one row.
    """
    if kind.rank == 0:
        return Rows(1, 1)
    if kind.strides[-1] != 1 and kind.shape[-1] > 1 and kind.numel:
        return None
    count = math.prod(kind.shape[:-1])
    axes = [(n, s) for n, s in zip(kind.shape[:-1], kind.strides[:-1], strict=True) if n != 1]
    if not axes or kind.numel == 0:
        return Rows(count, max(kind.shape[-1], 1))
    for (_, outer), (size, inner) in pairwise(axes):
        if outer != size * inner:
            return None
    return Rows(count, axes[-1][1])
