"""Root-mean-square normalisation."""

from __future__ import annotations

from typing import cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.layouts import Rows, rows_of
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering
from forge_ugc.npuir.instruction import Instruction, Ref
from forge_ugc.npuir.types import DType


@lowering("rms_norm")
class RmsNormLowering(Lowering):
    """Rows of float32."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        kinds = [types[r] for r in instruction.refs()] + [r.type for r in instruction.results]
        if any(kind.dtype != DType.F32 for kind in kinds):
            return No("rms_norm has a kernel for f32 alone")
        if any(rows_of(kind) is None for kind in kinds):
            return No("rms_norm needs rows of adjacent elements, one distance apart")
        return Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        x, w = cast(Ref, instruction.operands[0]), cast(Ref, instruction.operands[1])
        (result,) = instruction.results
        read, written = (cast(Rows, rows_of(k)) for k in (emitter.types[x], result.type))
        emitter.step(
            "rms_norm_f32", x=x, x_stride=read.stride, w=w, out=result, out_stride=written.stride,
            rows=read.rows, dim=result.type.shape[-1],
            eps=float(cast(float, instruction.attributes.get("eps", 1e-6))),
        )  # fmt: skip
