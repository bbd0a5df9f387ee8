"""Symmetric int8 quantisation of rows at run time."""

from __future__ import annotations

from typing import cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.layouts import FLOATS, Rows, rows_of
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering
from forge_ugc.npuir.instruction import Instruction, Ref


@lowering("quantize_rows")
class QuantizeRowsLowering(Lowering):
    """Rows of f32 or bf16 to i8 with a scale for each row."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        x = types[cast(Ref, instruction.operands[0])]
        if rows_of(x) is None:
            return No("quantize_rows needs rows of adjacent elements, one distance apart")
        return Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        x = cast(Ref, instruction.operands[0])
        kind = emitter.types[x]
        quantized, scale = instruction.results
        read, written = (cast(Rows, rows_of(k)) for k in (kind, quantized.type))
        emitter.step(
            "quantize_rows", x=x, x_type=FLOATS[kind.dtype], x_stride=read.stride,
            rows=read.rows, depth=kind.shape[-1], q=quantized, q_stride=written.stride, scale=scale,
        )  # fmt: skip
