"""Sums, means, products, extrema and their places, any and all, along axes that lie together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.loops import Axis, loops, padded
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering
from forge_ugc.npuir.instruction import Instruction, Ref
from forge_ugc.npuir.types import DType, TensorType

_NUMBERS = {DType.F32: 0, DType.BF16: 1, DType.I64: 2, DType.BOOL: 3}
"""The enum `Number` of csrc/kernels/reduce/args.h."""

_KINDS = {
    "aten.sum.default": 0, "aten.sum.dim_IntList": 0,
    "aten.mean.default": 1, "aten.mean.dim": 1,
    "aten.prod.default": 2, "aten.prod.dim_int": 2,
    "aten.amax.default": 3, "aten.max.default": 3,
    "aten.amin.default": 4, "aten.min.default": 4,
    "aten.any.default": 5, "aten.any.dim": 5,
    "aten.all.default": 6, "aten.all.dim": 6,
}  # fmt: skip
"""The enum `Reduction` there."""

_SAME = {(t, t) for t in (DType.F32, DType.BF16, DType.I64)}
_WIDENED = {(DType.BF16, DType.F32)}  # `dtype=`
_TYPES = (
    _SAME | _WIDENED | {(DType.BOOL, DType.I64)},
    (_SAME | _WIDENED) - {(DType.I64, DType.I64)},
    _SAME | _WIDENED | {(DType.BOOL, DType.I64)},
    _SAME, _SAME, {(DType.BOOL, DType.BOOL)}, {(DType.BOOL, DType.BOOL)},
)  # fmt: skip
"""From what to what, by kind."""

_PLACES = {
    "aten.argmax.default": 0, "aten.max.dim": 0, "aten.argmin.default": 1, "aten.min.dim": 1,
}  # fmt: skip
"""The enum `Extremum` of csrc/kernels/arg_reduce/args.h."""


class _Walk(NamedTuple):
    """How kernels walk a reduction: results by two loops, one loop of elements for each."""

    outer: Axis
    inner: Axis
    elements: int
    stride: int

    def strides(self, tensor: int) -> list[int]:
        """Of a result: tensor 0 is x."""
        return [self.outer.strides[tensor], self.inner.strides[tensor]]

    def x_strides(self) -> list[int]:
        return [self.outer.strides[0], self.stride, self.inner.strides[0]]


def _axes(instruction: Instruction, rank: int) -> frozenset[int]:
    """The axes that are reduced."""
    given = instruction.attributes.get("dim")
    if given is None or given == ():
        return frozenset(range(rank))
    dims = cast(tuple[int, ...], given if isinstance(given, tuple) else (given,))
    return frozenset(dim % rank for dim in dims) if rank else frozenset()


def _kept_strides(kind: TensorType, reduced: frozenset[int], rank: int) -> Sequence[int]:
    """Strides of a result along the axes that are not reduced, with or without the others."""
    if kind.rank == rank:
        return [s for axis, s in enumerate(kind.strides) if axis not in reduced]
    return kind.strides


def _walk(instruction: Instruction, x: TensorType) -> _Walk | No:
    reduced = _axes(instruction, x.rank)
    kept = [axis for axis in range(x.rank) if axis not in reduced]
    results = [_kept_strides(r.type, reduced, x.rank) for r in instruction.results]
    outside = loops([x.shape[a] for a in kept], [x.strides[a] for a in kept], *results)
    within = loops([x.shape[a] for a in sorted(reduced)], [x.strides[a] for a in sorted(reduced)])
    if len(outside) > 2:
        return No("reductions have kernels for results along two strides at most")
    if len(within) > 1:
        return No("reductions have kernels for axes that lie together alone")
    outer, inner = padded(outside, 2, 1 + len(results))
    if not within:
        return _Walk(outer, inner, 1, 1)
    return _Walk(outer, inner, within[0].size, within[0].strides[0])


@lowering(*_KINDS)
class ReductionLowering(Lowering):
    """One number for all elements along axes."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        x = types[cast(Ref, instruction.operands[0])]
        out = instruction.results[0].type
        if (x.dtype, out.dtype) not in _TYPES[_KINDS[instruction.opcode]]:
            return No(
                f"{instruction.opcode} has no kernel from {x.dtype.value} to {out.dtype.value}"
            )
        walk = _walk(instruction, x)
        return walk if isinstance(walk, No) else Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        x = cast(Ref, instruction.operands[0])
        (result,) = instruction.results
        walk = cast(_Walk, _walk(instruction, emitter.types[x]))
        emitter.step(
            "reduce", x=x, x_type=_NUMBERS[emitter.types[x].dtype], x_strides=walk.x_strides(),
            out=result, out_type=_NUMBERS[result.type.dtype], out_strides=walk.strides(1),
            outer=walk.outer.size, count=walk.elements, inner=walk.inner.size,
            reduction=_KINDS[instruction.opcode],
        )  # fmt: skip


@lowering(*_PLACES)
class PlaceLowering(Lowering):
    """Where the extremum along one axis is, or that of all elements in row-major order."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        x = types[cast(Ref, instruction.operands[0])]
        if (x.dtype, x.dtype) not in _SAME:
            return No(f"{instruction.opcode} has no kernel for {x.dtype.value}")
        if instruction.attributes.get("dim") is None and not x.is_contiguous:
            return No(f"{instruction.opcode} of all elements needs them in row-major order")
        walk = _walk(instruction, x)
        return walk if isinstance(walk, No) else Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        x = cast(Ref, instruction.operands[0])
        walk = cast(_Walk, _walk(instruction, emitter.types[x]))
        results = list(enumerate(instruction.results, 1))
        (place, indices), *rest = reversed(results)
        position, values = rest[0] if rest else (0, None)
        emitter.step(
            "arg_reduce", x=x, x_type=_NUMBERS[emitter.types[x].dtype], x_strides=walk.x_strides(),
            indices=indices, index_strides=walk.strides(place),
            values=values, value_strides=walk.strides(position),
            outer=walk.outer.size, count=walk.elements, inner=walk.inner.size,
            extremum=_PLACES[instruction.opcode],
        )  # fmt: skip
