"""Layer normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.layouts import FLOATS
from forge_ugc.backends.cpu.loops import Axis, rows_together
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering, operand
from forge_ugc.npuir.instruction import Instruction, Ref
from forge_ugc.npuir.types import DType, TensorType


def _axes(instruction: Instruction) -> int:
    """How many axes are normalised together; our own operator takes the last one."""
    if instruction.opcode == "layer_norm":
        return 1
    return len(cast(tuple[int, ...], instruction.attributes["normalized_shape"]))


def _rows(x: TensorType, out: TensorType, axes: int, moments: Sequence[TensorType]) -> Axis | None:
    """The last `axes` axes as one row; rows in their logical order if there are moments."""
    if axes == 1 and not moments:
        return rows_together(x, out)
    if not (x.is_contiguous and out.is_contiguous):
        return None
    dim = math.prod(x.shape[x.rank - axes :])
    return Axis(math.prod(x.shape[: x.rank - axes]), (dim, dim))


@lowering("layer_norm", "aten.layer_norm.default", "aten.native_layer_norm.default")
class LayerNormLowering(Lowering):
    """Rows of float32 or bfloat16; weight and bias of one type."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        x = types[cast(Ref, instruction.operands[0])]
        out, *moments = (r.type for r in instruction.results)
        parameters = [types[r] for r in list(instruction.refs())[1:]]
        if any(kind.dtype not in FLOATS for kind in (x, out, *parameters)):
            return No("layer_norm has kernels for f32 and bf16 alone")
        if len({kind.dtype for kind in parameters}) > 1:
            return No("layer_norm needs weight and bias of one type")
        if any(kind.dtype != DType.F32 for kind in moments):
            return No("layer_norm computes the moments in f32")
        if _rows(x, out, _axes(instruction), moments) is None or not all(
            kind.is_contiguous for kind in (*parameters, *moments)
        ):
            return No("layer_norm needs rows of adjacent elements, one distance apart")
        return Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        x, axes = cast(Ref, instruction.operands[0]), _axes(instruction)
        w, bias = operand(instruction, 1), operand(instruction, 2)
        given = w if bias is None else bias
        out, *moments = instruction.results
        mean, rstd = moments or (None, None)
        kind = emitter.types[x]
        rows = cast(Axis, _rows(kind, out.type, axes, [m.type for m in moments]))
        emitter.step(
            "layer_norm", x=x, x_type=FLOATS[kind.dtype], x_stride=rows.strides[0],
            w=w, bias=bias, w_type=0 if given is None else FLOATS[emitter.types[given].dtype],
            out=out, out_type=FLOATS[out.type.dtype], out_stride=rows.strides[1],
            mean=mean, rstd=rstd, rows=rows.size, dim=math.prod(kind.shape[kind.rank - axes :]),
            eps=float(cast(float, instruction.attributes.get("eps", 1e-5))),
        )  # fmt: skip
