"""Matrix products with constant weights: linear, merged and gated, in f32, bf16 and int8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from forge_ugc import native
from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter, Field
from forge_ugc.backends.cpu.layouts import FLOATS, Rows, rows_of
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering
from forge_ugc.backends.cpu.packing import Packed
from forge_ugc.npuir.instruction import Const, Instruction, Operand, Ref, Result
from forge_ugc.npuir.types import DType

ACTIVATIONS = {
    name: i
    for i, name in enumerate(
        ("none", "relu", "gelu", "gelu_tanh", "silu", "tanh", "quick_gelu", "sigmoid")
    )
}
"""The enum `Activation` of csrc/kernels/linear/args.h."""
_KERNELS = {DType.F32: "linear_f32", DType.BF16: "linear_bf16", DType.I8: "linear_i8"}
_MOST_PARTS = 4


def _operand(operands: Sequence[Operand], index: int) -> Operand:
    return operands[index] if index < len(operands) else None


def _several(operand: Operand) -> tuple[Operand, ...]:
    return operand if isinstance(operand, tuple) else (operand,)


def _common_support(
    instruction: Instruction,
    types: Types,
    weights: Sequence[Operand],
    biases: Sequence[Operand],
    residual: Operand,
) -> Yes | No:
    """What all three ask of their operands."""
    x = types[cast(Ref, instruction.operands[0])]
    if x.dtype not in _KERNELS or _KERNELS[x.dtype] not in native.kernel_table():
        return No(f"no matrix kernel for {x.dtype.value}")
    if any(not isinstance(w, Const) for w in weights):
        return No("the weight is no constant, and weights are packed at compile time")
    if any(types[cast(Const, w)].dtype != x.dtype for w in weights):
        return No(f"x is {x.dtype.value} and a weight is of another type")
    rest = [types[cast(Ref, r)] for r in (*biases, residual) if r is not None]
    rest += [r.type for r in instruction.results]
    if any(kind.dtype not in FLOATS for kind in rest):
        return No("bias, residual and result have to be f32 or bf16")
    if len({types[cast(Ref, b)].dtype for b in biases if b is not None}) > 1:
        return No("the biases are of several types")
    if any(rows_of(kind) is None for kind in (x, *rest)):
        return No("a matrix kernel needs rows of adjacent elements, one distance apart")
    if instruction.attributes.get("activation", "none") not in ACTIVATIONS:
        return No(f"no kernel for the activation {instruction.attributes['activation']}")
    return Yes()


def _emit(
    instruction: Instruction,
    emitter: Emitter,
    *,
    weights: Sequence[Operand],
    biases: Sequence[Operand],
    residual: Operand = None,
    x_scale: Operand = None,
    w_scales: Sequence[Operand] = (),
    up: tuple[Operand, Operand, Operand] | None = None,
    default_activation: str = "none",
) -> None:
    """One step; `up` is the second weight of a gated form with its bias and scale."""
    x = cast(Ref, instruction.operands[0])
    kind = emitter.types[x]
    rows = cast(Rows, rows_of(kind))
    packed: list[Field] = [_pack(emitter, w, kind.dtype) for w in weights]
    attributes = instruction.attributes
    known = [b for b in (*biases, up[1] if up else None) if b is not None]
    bias_type = emitter.types[cast(Ref, known[0])].dtype if known else DType.F32
    fields: dict[str, Field | list[Field]] = {
        "x": x, "x_stride": rows.stride, "rows": rows.rows, "depth": kind.shape[-1],
        "parts": len(weights),
        "columns": [emitter.types[cast(Ref, w)].shape[0] for w in weights],
        "w": packed,
        "bias": [cast(Field, b) for b in biases], "bias_type": FLOATS[bias_type],
        "activation": ACTIVATIONS[str(attributes.get("activation", default_activation))],
        "scale": float(cast(float, attributes.get("scale", 1.0))),
        **_results(instruction.results), **_residual(emitter, residual),
    }  # fmt: skip
    if kind.dtype == DType.I8:
        fields["x_scale"] = cast(Field, x_scale)
        fields["w_scale"] = [cast(Field, s) for s in w_scales]
    if up is not None:
        fields["up"] = _pack(emitter, up[0], kind.dtype)
        fields["up_bias"] = cast(Field, up[1])
        if kind.dtype == DType.I8:
            fields["up_scale"] = cast(Field, up[2])
    emitter.step(_KERNELS[kind.dtype], **fields)


def _results(results: Sequence[Result]) -> dict[str, Field | list[Field]]:
    return {
        "out": list(results),
        "out_stride": [cast(Rows, rows_of(r.type)).stride for r in results],
        "out_type": FLOATS[results[0].type.dtype],
    }


def _residual(emitter: Emitter, residual: Operand) -> dict[str, Field | list[Field]]:
    if residual is None:
        return {"residual_stride": 0, "residual_type": 0}
    kind = emitter.types[cast(Ref, residual)]
    return {
        "residual": cast(Ref, residual),
        "residual_stride": cast(Rows, rows_of(kind)).stride,
        "residual_type": FLOATS[kind.dtype],
    }


def _pack(emitter: Emitter, weight: Operand, form: DType) -> Packed:
    return emitter.pack(cast(Const, weight), form)


@lowering("linear")
class LinearLowering(Lowering):
    """One weight, with activation, scale and residual in the epilogue."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        _, w, b, residual = (_operand(instruction.operands, i) for i in range(4))
        return _common_support(instruction, types, [w], [b], residual)

    def packed_constants(self, instruction: Instruction) -> tuple[Const, ...]:
        return (cast(Const, instruction.operands[1]),)

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        operands = instruction.operands
        _emit(
            instruction, emitter, weights=[operands[1]], biases=[_operand(operands, 2)],
            residual=_operand(operands, 3), x_scale=_operand(operands, 4),
            w_scales=[_operand(operands, 5)],
        )  # fmt: skip


@lowering("merged_linear")
class MergedLinearLowering(Lowering):
    """Several weights over one input, in steps of at most four."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        weights, biases = (_several(o) for o in instruction.operands[1:3])
        if len({r.type.dtype for r in instruction.results}) > 1:
            return No("the results are of several types")
        return _common_support(instruction, types, weights, biases, None)

    def packed_constants(self, instruction: Instruction) -> tuple[Const, ...]:
        return cast("tuple[Const, ...]", _several(instruction.operands[1]))

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        operands = instruction.operands
        weights, biases = _several(operands[1]), _several(operands[2])
        scales = _several(_operand(operands, 4))
        for first in range(0, len(weights), _MOST_PARTS):
            part = slice(first, first + _MOST_PARTS)
            _emit(
                instruction.with_results(instruction.results[part]), emitter,
                weights=weights[part], biases=biases[part], x_scale=_operand(operands, 3),
                w_scales=scales[part],
            )  # fmt: skip


@lowering("gated_linear")
class GatedLinearLowering(Lowering):
    """An activated gate times a second product."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        _, gate, up, b_gate, b_up = (_operand(instruction.operands, i) for i in range(5))
        return _common_support(instruction, types, [gate, up], [b_gate, b_up], None)

    def packed_constants(self, instruction: Instruction) -> tuple[Const, ...]:
        return cast("tuple[Const, ...]", instruction.operands[1:3])

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        _, gate, up, b_gate, b_up, x_scale, s_gate, s_up = (
            _operand(instruction.operands, i) for i in range(8)
        )
        _emit(
            instruction, emitter, weights=[gate], biases=[b_gate], up=(up, b_up, s_up),
            x_scale=x_scale, w_scales=[s_gate], default_activation="silu",
        )  # fmt: skip
