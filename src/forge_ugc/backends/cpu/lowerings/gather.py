"""Elements by index: embedding, `x[i, j]`, index_select, gather."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter, Field
from forge_ugc.backends.cpu.layouts import FLOATS, Rows, rows_of
from forge_ugc.backends.cpu.loops import Axis, broadcast_strides, loops, padded
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering, operand
from forge_ugc.npuir.instruction import Const, Instruction, Ref, Reg, State
from forge_ugc.npuir.types import DType, TensorType

DIMS, INDICES = 5, 4
_EMBEDDINGS = frozenset({"embedding", "aten.embedding.default"})
_CONVERSIONS = {(DType.BF16, DType.F32): 1, (DType.F32, DType.BF16): 2}
"""`GatherConversion` of csrc/kernels/gather/args.h."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """Strides of x over the result's axes; for each index its tensor, strides there, and axis."""

    x: Ref
    x_strides: tuple[int, ...]
    ids: tuple[tuple[Ref, tuple[int, ...], int], ...]
    from_end: bool = False


@lowering(
    "embedding", "aten.embedding.default", "aten.index.Tensor", "aten.index_select.default",
    "aten.gather.default",
)  # fmt: skip
class GatherLowering(Lowering):
    """One kernel: loops over the result, with an offset into x from every index."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        plan, result = _plan(instruction, types), instruction.results[0].type
        if isinstance(plan, No):
            return plan
        if types[plan.x].dtype is DType.I8 and operand(instruction, 2) is not None:
            packed = _may_be_packed(instruction, types)
            return Yes() if packed else No("the scaled embedding needs contiguous indices")
        if any(types[ref].dtype not in (DType.I64, DType.I32) for ref, _, _ in plan.ids):
            return No("gather takes indices of i64 or i32")
        if not 1 <= len(plan.ids) <= INDICES:
            return No(f"gather has {len(plan.ids)} indices, 1 to {INDICES} fit")
        pair = (types[plan.x].dtype, result.dtype)
        if pair[0] != pair[1] and pair not in _CONVERSIONS:
            return No(f"gather has no conversion from {pair[0].value} to {pair[1].value}")
        if result.dtype.size_bytes > 8:
            return No(f"gather has no kernel for {result.dtype.value}")
        count = len(_loops(plan, result))
        return Yes() if count <= DIMS else No(f"gather has {count} nested loops, at most {DIMS}")

    def table_constants(self, instruction: Instruction, types: Types) -> tuple[Const, ...]:
        return (cast(Const, instruction.operands[0]),) if _may_be_packed(instruction, types) else ()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        scaled = instruction.opcode == "embedding" and operand(instruction, 2) is not None
        if scaled or instruction.operands[0] in emitter.packed_tables:
            return _emit_packed(instruction, emitter)
        plan, (result,) = _plan(instruction, emitter.types), instruction.results
        if isinstance(plan, No) or result.type.numel == 0:
            return
        x, axes = emitter.types[plan.x], padded(_loops(plan, result.type), DIMS, 2 + len(plan.ids))
        rows = range(len(plan.ids))
        emitter.step(
            "gather", x=plan.x, x_strides=[a.strides[1] for a in axes],
            ids=[ref for ref, _, _ in plan.ids],
            ids_strides=[a.strides[2 + k] for k in rows for a in axes],
            ids_bytes=[emitter.types[ref].dtype.size_bytes for ref, _, _ in plan.ids],
            axis_strides=[x.strides[axis] for _, _, axis in plan.ids],
            axis_sizes=[x.shape[axis] for _, _, axis in plan.ids], indices=len(plan.ids),
            from_end=int(plan.from_end), out=result, out_strides=[a.strides[0] for a in axes],
            sizes=[a.size for a in axes], element_bytes=x.dtype.size_bytes,
            conversion=_CONVERSIONS.get((x.dtype, result.type.dtype), 0),
        )  # fmt: skip


def _may_be_packed(instruction: Instruction, types: Types) -> bool:
    """Whether an instruction looks rows up in a constant, as the kernels for packed weights do."""
    table = instruction.operands[0]
    if instruction.opcode not in _EMBEDDINGS or not isinstance(table, Const):
        return False
    ids, result = types[cast(Ref, instruction.operands[1])], instruction.results[0].type
    floats = result.dtype in FLOATS and types[table].dtype in (*FLOATS, DType.I8)
    return floats and ids.is_contiguous and result.numel > 0 and rows_of(result) is not None


def _emit_packed(instruction: Instruction, emitter: Emitter) -> None:
    """The table is also the weight of a product, and held in packed form alone."""
    table, ids = cast(Const, instruction.operands[0]), cast(Ref, instruction.operands[1])
    kind, index, (result,) = emitter.types[table], emitter.types[ids], instruction.results
    packed = emitter.pack(table, kind.dtype)
    written = cast(Rows, rows_of(result.type))
    emitter.step(
        f"linear_gather_{kind.dtype.value}", packed=packed, columns=kind.shape[0],
        depth=kind.shape[1], scale=cast(Field, operand(instruction, 2)), ids=ids,
        ids_stride=1, ids_bytes=index.dtype.size_bytes, rows=index.numel, out=result,
        out_type=FLOATS[result.type.dtype], out_stride=written.stride,
    )  # fmt: skip


def _loops(plan: _Plan, result: TensorType) -> list[Axis]:
    return loops(result.shape, result.strides, plan.x_strides, *(s for _, s, _ in plan.ids))


def _plan(instruction: Instruction, types: Types) -> _Plan | No:
    first, second = instruction.operands[:2]
    if not isinstance(first, Reg | Const | State):
        return No(f"{instruction.opcode} of what is no tensor")
    if instruction.opcode == "aten.index.Tensor":
        return _index(first, cast("tuple[Ref | None, ...]", second), types, instruction)
    if not isinstance(second, Reg | Const | State):
        return No(f"{instruction.opcode} by what is no tensor")
    x, ids = types[first], types[second]
    if instruction.opcode in _EMBEDDINGS:
        return _Plan(first, (0,) * ids.rank + x.strides[1:], ((second, (*ids.strides, 0), 0),))
    if not x.rank:
        return No(f"{instruction.opcode} of a tensor without axes")
    axis = cast(int, instruction.attributes.get("dim", 0)) % x.rank
    walked = tuple(0 if i == axis else s for i, s in enumerate(x.strides))
    if instruction.opcode == "aten.gather.default":
        return _Plan(first, walked, ((second, ids.strides, axis),))
    step = ids.strides[0] if ids.rank else 0
    by = tuple(step if i == axis else 0 for i in range(x.rank))
    return _Plan(first, walked, ((second, by, axis),))


def _index(
    ref: Ref, indices: tuple[Ref | None, ...], types: Types, instruction: Instruction
) -> _Plan | No:
    """Axes with an index make way for the axes that the indices have together.

    Those come where the indexed axes were, if these lie side by side, else first.
    """
    x = types[ref]
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    kinds = [types[cast(Ref, indices[axis])] for axis in axes]
    if any(kind.dtype is DType.BOOL for kind in kinds):
        return No("aten.index.Tensor by a mask has as many results as the mask says")
    shape = torch.broadcast_shapes(*(kind.shape for kind in kinds))
    rank, begin = len(shape), axes[0]
    if axes != list(range(begin, begin + len(axes))):
        begin = 0
    kept = [s for axis, s in enumerate(x.strides) if axis not in axes]
    strides = (*kept[:begin], *(0,) * rank, *kept[begin:])
    after = len(kept) - begin
    ids = tuple(
        (cast(Ref, indices[axis]), (*(0,) * begin, *broadcast_strides(kind, shape), *(0,) * after),
         axis)
        for axis, kind in zip(axes, kinds, strict=True)
    )  # fmt: skip
    if len(strides) != instruction.results[0].type.rank:
        return No("aten.index.Tensor has a result of another rank")
    return _Plan(ref, strides, ids, from_end=True)
