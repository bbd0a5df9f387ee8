"""Root-mean-square normalisation."""

from __future__ import annotations

from typing import cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.layouts import FLOATS
from forge_ugc.backends.cpu.loops import Axis, rows_together
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering, operand
from forge_ugc.npuir.instruction import Instruction, Ref


@lowering("rms_norm")
class RmsNormLowering(Lowering):
    """Rows of float32 or bfloat16.

    The only rounding to bfloat16 is that of the result, also with `cast_before_weight`.
    """

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        kinds = [types[r] for r in instruction.refs()] + [r.type for r in instruction.results]
        if any(kind.dtype not in FLOATS for kind in kinds):
            return No("rms_norm has kernels for f32 and bf16 alone")
        if rows_together(kinds[0], kinds[-1]) is None or not all(
            kind.is_contiguous for kind in kinds[1:-1]
        ):
            return No("rms_norm needs rows of adjacent elements, one distance apart")
        return Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        x, w = cast(Ref, instruction.operands[0]), operand(instruction, 1)
        (result,) = instruction.results
        rows = cast(Axis, rows_together(emitter.types[x], result.type))
        attributes = instruction.attributes
        emitter.step(
            "rms_norm", x=x, x_type=FLOATS[emitter.types[x].dtype], x_stride=rows.strides[0],
            w=w, w_type=0 if w is None else FLOATS[emitter.types[w].dtype],
            weight_offset=float(cast(float, attributes.get("weight_offset", 0.0))),
            out=result, out_type=FLOATS[result.type.dtype], out_stride=rows.strides[1],
            rows=rows.size, dim=result.type.shape[-1],
            eps=float(cast(float, attributes.get("eps", 1e-6))),
        )  # fmt: skip
