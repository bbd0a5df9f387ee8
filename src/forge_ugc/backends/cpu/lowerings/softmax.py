"""Softmax over the last axis."""

from __future__ import annotations

from typing import cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.layouts import FLOATS
from forge_ugc.backends.cpu.loops import Axis, rows_together
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering
from forge_ugc.npuir.instruction import Instruction, Ref
from forge_ugc.npuir.types import DType

_LOGARITHM = frozenset({"aten.log_softmax.int", "aten._log_softmax.default"})


@lowering("aten.softmax.int", "aten._softmax.default", *sorted(_LOGARITHM))
class SoftmaxLowering(Lowering):
    """Rows of float32 or bfloat16, with the arithmetic in float32."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        x = types[cast(Ref, instruction.operands[0])]
        out = instruction.results[0].type
        if x.dtype not in FLOATS or out.dtype not in (x.dtype, DType.F32):
            return No(f"softmax has no kernel from {x.dtype.value} to {out.dtype.value}")
        axis = cast(int, instruction.attributes["dim"])
        if axis not in (-1, x.rank - 1):
            return No("softmax has a kernel for the last axis alone")
        if rows_together(x, out) is None:
            return No("softmax needs rows of adjacent elements, one distance apart")
        return Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        x = cast(Ref, instruction.operands[0])
        (result,) = instruction.results
        kind, out = emitter.types[x], result.type
        rows = cast(Axis, rows_together(kind, out))
        emitter.step(
            "softmax", x=x, x_type=FLOATS[kind.dtype], x_stride=rows.strides[0],
            out=result, out_type=FLOATS[out.dtype], out_stride=rows.strides[1],
            rows=rows.size, dim=kind.shape[-1] if kind.rank else 1,
            result=int(instruction.opcode in _LOGARITHM),
        )  # fmt: skip
