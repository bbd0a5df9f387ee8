"""Arithmetic on the strides of views."""

from __future__ import annotations

from collections.abc import Sequence

from torch import fx

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.passes.core.arguments import argument, first_tensor, operator_name
from forge_ugc.passes.graph import tensor_type


def view_strides(kind: TensorType, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Strides with which memory of type `kind` shows as `shape`; None if that needs a copy.

    Walks both shapes from the innermost dimension and keeps runs of old dimensions that follow each
    other in memory, the rule of `aten.view` (ATen/TensorUtils.cpp, computeStride).
    """
    dims = tuple(shape)
    target = TensorType.of(kind.dtype, dims)
    if target.numel != kind.numel:
        return None
    if kind.numel == 0 or kind.is_contiguous:
        return target.strides
    old = [(d, s) for d, s in zip(kind.shape, kind.strides, strict=True) if d != 1]
    strides = [0] * len(dims)
    new = len(dims) - 1
    while old:
        size, base = old.pop()
        while old and old[-1][1] == base * size:
            size *= old.pop()[0]
        step = 1
        while new >= 0 and (step < size or dims[new] == 1):
            strides[new] = base * step
            step *= dims[new]
            new -= 1
        if step != size:
            return None
    return TensorType.of(kind.dtype, dims, strides).strides


def permutation(node: fx.Node) -> tuple[int, ...] | None:
    """The order of dimensions that a transposing view applies; None for any other operator.

    Complex tensors are left out: some of these operators conjugate them.
    """
    base = first_tensor(node)
    kind = tensor_type(base)
    name = operator_name(node)
    if kind is None or kind.dtype in {DType.C64, DType.C128}:
        return None
    order = list(range(kind.rank))
    if name == "permute":
        dims = argument(node, "dims")
        if not isinstance(dims, list | tuple):
            return None
        return tuple(int(d) % max(kind.rank, 1) for d in dims)
    if name in {"t", "numpy_T"}:
        return tuple(reversed(order))
    if name in {"mT", "matrix_H", "adjoint"} and kind.rank >= 2:
        order[-1], order[-2] = order[-2], order[-1]
        return tuple(order)
    if name in {"transpose", "swapaxes", "swapdims"}:
        a, b = node.args[1], node.args[2]
        if isinstance(a, int) and isinstance(b, int) and kind.rank:
            order[a % kind.rank], order[b % kind.rank] = order[b % kind.rank], order[a % kind.rank]
        return tuple(order)
    return None
