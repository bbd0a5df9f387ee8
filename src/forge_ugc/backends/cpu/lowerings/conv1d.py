"""Depthwise convolution along the last axis."""

from __future__ import annotations

from typing import cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering
from forge_ugc.npuir.instruction import Const, Instruction, Ref, Reg, State
from forge_ugc.npuir.types import DType


@lowering("aten.conv1d.default")
class Conv1dLowering(Lowering):
    """One filter a channel (LFM2, Mamba), f32, in any layout."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        operands = instruction.operands
        if not all(isinstance(o, Reg | Const | State) for o in operands):
            return No("conv1d without its tensors")
        kinds = [types[cast(Ref, o)] for o in operands]
        if any(kind.dtype is not DType.F32 for kind in kinds):
            return No("conv1d has a kernel for f32 alone")
        x, w = kinds[:2]
        depthwise = x.rank == 3 and w.shape[:2] == (x.shape[1], 1)
        if not depthwise or instruction.attributes.get("groups", 1) != x.shape[1]:
            return No("conv1d has a kernel for one filter a channel alone")
        for name in ("stride", "dilation"):
            if instruction.attributes.get(name, (1,)) != (1,):
                return No(f"conv1d has no kernel with a {name}")
        return Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        x, w, *bias = (cast(Ref, o) for o in instruction.operands)
        (result,), kinds = instruction.results, emitter.types
        out, (batch, channels, length) = result.type, kinds[x].shape
        emitter.step(
            "conv1d", x=x, x_strides=list(kinds[x].strides), w=w,
            w_strides=[kinds[w].strides[0], kinds[w].strides[2]],
            bias=bias[0] if bias else None, out=result, out_strides=list(out.strides),
            batch=batch, channels=channels, length=length, out_length=out.shape[2],
            taps=kinds[w].shape[2],
            padding=cast("tuple[int, ...]", instruction.attributes.get("padding", (0,)))[0],
        )  # fmt: skip
