"""The axes that several tensors of one shape are walked along, merged into as few as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from forge_ugc.npuir.types import TensorType


class Axis(NamedTuple):
    """One loop: how often it runs, and how far each tensor moves on, in elements."""

    size: int
    strides: tuple[int, ...]


def loops(shape: Sequence[int], *strides: Sequence[int]) -> list[Axis]:
    """Loops over `shape` for tensors with these strides, in the memory order of the first.

    Axes of one element are left out, and axes that every tensor walks in one stride are merged.
    """
    axes = [
        Axis(size, tuple(moves))
        for size, *moves in zip(shape, *strides, strict=True)
        if size != 1
    ]  # fmt: skip
    axes.sort(key=lambda axis: abs(axis.strides[0]), reverse=True)
    merged: list[Axis] = []
    for axis in axes:
        if merged and merged[-1].strides == tuple(axis.size * s for s in axis.strides):
            merged[-1] = Axis(merged[-1].size * axis.size, axis.strides)
        else:
            merged.append(axis)
    return merged


def padded(axes: Sequence[Axis], count: int, tensors: int) -> list[Axis]:
    """Exactly `count` loops: loops of one element come first. There are no more than `count`."""
    return [Axis(1, (0,) * tensors)] * (count - len(axes)) + list(axes)


def broadcast_strides(kind: TensorType, shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a tensor that is broadcast to `shape`, whose last axes are its own."""
    own = [0 if n == 1 else s for n, s in zip(kind.shape, kind.strides, strict=True)]
    return (0,) * (len(shape) - kind.rank) + tuple(own)


def rows_together(first: TensorType, *others: TensorType) -> Axis | None:
    """The rows of tensors of one shape as one loop; None if their memory does not allow it.

    A row is the last axis, whose elements have to be adjacent. Rows come in the memory order of
    `first`: for kernels that treat every row alike. A tensor without axes is one row.
    """
    kinds = (first, *others)
    if first.rank == 0:
        return Axis(1, (1,) * len(kinds))
    if any(kind.strides[-1] != 1 and kind.shape[-1] > 1 for kind in kinds):
        return None
    found = loops(first.shape[:-1], *(kind.strides[:-1] for kind in kinds))
    return padded(found, 1, len(kinds))[0] if len(found) <= 1 else None
