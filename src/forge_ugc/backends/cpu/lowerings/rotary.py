"""Rotary position embedding."""

from __future__ import annotations

from typing import cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.layouts import FLOATS
from forge_ugc.backends.cpu.loops import Axis, broadcast_strides, loops, padded
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering
from forge_ugc.npuir.instruction import Instruction, Ref
from forge_ugc.npuir.types import TensorType

_AXES = 3


def _row_loops(x: TensorType, cos: TensorType, sin: TensorType, out: TensorType) -> list[Axis]:
    """Loops over the rows of x, out, cos and sin."""
    lead = x.shape[:-1]
    tables = [broadcast_strides(kind, x.shape)[:-1] for kind in (cos, sin)]
    return loops(lead, x.strides[:-1], out.strides[:-1], *tables)


@lowering("rotary")
class RotaryLowering(Lowering):
    """Rows of float32 or bfloat16 at any strides.

    In bfloat16 the result alone is rounded, where PyTorch rounds the products as well.
    """

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        x, cos, sin = (types[ref] for ref in instruction.refs())
        out = instruction.results[0].type
        if any(kind.dtype not in FLOATS for kind in (x, cos, sin)) or cos.dtype != sin.dtype:
            return No("rotary has kernels for f32 and bf16, and tables of one type")
        rows = (x, cos, sin, out)
        if any(kind.strides[-1] != 1 and kind.shape[-1] > 1 for kind in rows):
            return No("rotary needs rows of adjacent elements")
        if len(_row_loops(x, cos, sin, out)) > _AXES:
            return No(f"rotary walks at most {_AXES} axes of rows")
        return Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        x, cos, sin = cast(tuple[Ref, Ref, Ref], instruction.operands)
        (result,) = instruction.results
        kind, table = emitter.types[x], emitter.types[cos]
        found = _row_loops(kind, table, emitter.types[sin], result.type)
        axes = padded(found, _AXES, 4)
        strides = [[axis.strides[tensor] for axis in axes] for tensor in range(4)]
        turned = cast(int, instruction.attributes.get("rotary_dim") or kind.shape[-1])
        emitter.step(
            "rotary", x=x, x_type=FLOATS[kind.dtype], x_strides=strides[0],
            cos=cos, cos_strides=strides[2], sin=sin, sin_strides=strides[3],
            table_type=FLOATS[table.dtype], table=int(table.shape[-1] != turned),
            pairs=int(bool(instruction.attributes.get("interleaved", False))),
            out=result, out_type=FLOATS[result.type.dtype], out_strides=strides[1],
            sizes=[axis.size for axis in axes], dim=kind.shape[-1], turned=turned,
        )  # fmt: skip
