"""Operators that move elements and change none of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.loops import loops, padded
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering
from forge_ugc.npuir.instruction import Const, Instruction, Ref, Reg, State
from forge_ugc.npuir.types import TensorType

DIMS = 6


@lowering("aten.clone.default")
class CloneLowering(Lowering):
    """Any strides, up to six loops."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        (result,) = instruction.results
        return copy_support(types, result.type, [(_source(instruction), result.type.strides)])

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        emit_copy(instruction, emitter, _source(instruction), 0, instruction.results[0].type)


@lowering("aten.cat.default", "aten.stack.default")
class JoinLowering(Lowering):
    """One copy for each tensor, all of the result's dtype."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        (result,) = instruction.results
        parts = _parts(instruction, types)
        if isinstance(parts, No):
            return parts
        return copy_support(types, result.type, [(ref, part.strides) for ref, _, part in parts])

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        parts = _parts(instruction, emitter.types)
        for ref, offset, part in () if isinstance(parts, No) else parts:
            emit_copy(instruction, emitter, ref, offset, part)


@lowering("aten.slice_scatter.default", "aten.select_scatter.default")
class ScatterLowering(Lowering):
    """The whole first, then the part that is written over it."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        (result,) = instruction.results
        if not all(isinstance(o, Reg | Const | State) for o in instruction.operands):
            return No(f"{instruction.opcode} has an operand that is no tensor")
        part = _scattered(instruction, types)[1]
        whole, source = (cast(Ref, o) for o in instruction.operands[:2])
        wanted = [(whole, result.type.strides), (source, part.strides)]
        return copy_support(types, result.type, wanted)

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        whole, source = (cast(Ref, o) for o in instruction.operands[:2])
        emit_copy(instruction, emitter, whole, 0, instruction.results[0].type)
        emit_copy(instruction, emitter, source, *_scattered(instruction, emitter.types))


def copy_support(
    types: Types, result: TensorType, copies: Sequence[tuple[Ref | None, Sequence[int]]]
) -> Yes | No:
    """Whether the kernel `copy` copies each tensor into memory of these strides."""
    if result.dtype.size_bytes > 8:
        return No(f"copy has no kernel for {result.dtype.value}")
    for ref, strides in copies:
        if ref is None:
            return No("copy of what is no tensor")
        kind = types[ref]
        if kind.dtype != result.dtype:
            return No(f"copy from {kind.dtype.value} to {result.dtype.value} changes elements")
        count = len(loops(kind.shape, strides, kind.strides))
        if count > DIMS:
            return No(f"copy has {count} nested loops, at most {DIMS} fit")
    return Yes()


def emit_copy(
    instruction: Instruction, emitter: Emitter, source: Ref | None, offset: int, part: TensorType
) -> None:
    """Copy a tensor to the part of the result that starts `offset` elements into it."""
    kind = emitter.types[cast(Ref, source)]
    if kind.numel == 0:
        return
    axes = padded(loops(kind.shape, part.strides, kind.strides), DIMS, 2)
    emitter.step(
        "copy", x=source, x_strides=[a.strides[1] for a in axes], out=instruction.results[0],
        out_offset=offset, out_strides=[a.strides[0] for a in axes],
        sizes=[a.size for a in axes], element_bytes=kind.dtype.size_bytes,
    )  # fmt: skip


def _source(instruction: Instruction) -> Ref | None:
    operand = instruction.operands[0]
    return operand if isinstance(operand, Reg | Const | State) else None


Part = tuple[Ref, int, TensorType]


def _parts(instruction: Instruction, types: Types) -> list[Part] | No:
    """Each tensor with its offset in the result, and the memory it takes there."""
    operands = cast("tuple[Ref, ...]", instruction.operands[0])
    result = instruction.results[0].type
    axis = cast(int, instruction.attributes.get("dim", 0)) % max(result.rank, 1)
    stacks = instruction.opcode.startswith("aten.stack")
    at, parts = 0, []
    for ref in operands:
        if not isinstance(ref, Reg | Const | State):
            return No(f"{instruction.opcode} of what is no tensor")
        kind = types[ref]
        if not stacks and kind.rank != result.rank:
            continue  # PyTorch ignores tensors of shape [0]
        strides = [s for i, s in enumerate(result.strides) if not (stacks and i == axis)]
        parts.append((ref, at * result.strides[axis],
                      TensorType(kind.dtype, kind.shape, tuple(strides))))  # fmt: skip
        at += 1 if stacks else kind.shape[axis]
    return parts


def _scattered(instruction: Instruction, types: Types) -> tuple[int, TensorType]:
    """Offset and memory of the part that is written over the whole."""
    result, source = instruction.results[0].type, types[cast(Ref, instruction.operands[1])]
    attributes = instruction.attributes
    axis = cast(int, attributes.get("dim", 0)) % max(result.rank, 1)
    size, strides = result.shape[axis], list(result.strides)
    if instruction.opcode.startswith("aten.select"):
        index = cast(int, attributes["index"]) % size
        kept = strides[:axis] + strides[axis + 1 :]
        return index * strides[axis], TensorType(source.dtype, source.shape, tuple(kept))
    start = cast("int | None", attributes.get("start")) or 0
    start = min(max(start + size if start < 0 else start, 0), size)
    offset = start * strides[axis]
    strides[axis] *= cast(int, attributes.get("step", 1))
    return offset, TensorType(source.dtype, source.shape, tuple(strides))
