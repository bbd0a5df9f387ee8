"""Scaled dot-product attention."""

from __future__ import annotations

from typing import cast

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.layouts import FLOATS
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering, operand
from forge_ugc.npuir.instruction import Instruction, Ref
from forge_ugc.npuir.types import DType, TensorType

_KERNELS = {DType.F32: "attention_f32", DType.BF16: "attention_bf16"}
_TYPES = {(DType.F32, DType.F32), (DType.BF16, DType.BF16), (DType.BF16, DType.F32)}
"""The types of the operands and of the result."""
_MASKS = {DType.BOOL: 1, DType.F32: 2, DType.BF16: 3}
"""The enum `MaskType` of csrc/kernels/attention/args.h."""
_UNBOUNDED = 2**62


@lowering("attention")
class AttentionLowering(Lowering):
    """Float32 or bfloat16, softmax and sums in float32; heads as they lie in their projections."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        q, k, v = (types[cast(Ref, r)] for r in instruction.operands[:3])
        out = instruction.results[0].type
        if (q.dtype, out.dtype) not in _TYPES:
            return No(f"attention has no kernel from {q.dtype.value} to {out.dtype.value}")
        if any(kind.strides[-1] != 1 and kind.shape[-1] > 1 for kind in (q, k, v, out)):
            return No("attention needs heads of adjacent elements")
        mask = operand(instruction, 3)
        if mask is not None and types[mask].dtype not in _MASKS:
            return No(f"attention has no kernel for a mask of {types[mask].dtype.value}")
        return Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        q, k, v = (cast(Ref, r) for r in instruction.operands[:3])
        (result,) = instruction.results
        kind_q, kind_k, kind_v = (emitter.types[r] for r in (q, k, v))
        mask = operand(instruction, 3)
        kind_mask = None if mask is None else emitter.types[mask]
        batch, heads, length, size = kind_q.shape
        attributes = instruction.attributes
        out_type = {} if kind_q.dtype == DType.F32 else {"out_type": FLOATS[result.type.dtype]}
        emitter.step(
            _KERNELS[kind_q.dtype], q=q, q_strides=kind_q.strides[:3], k=k,
            k_strides=kind_k.strides[:3], v=v, v_strides=kind_v.strides[:3],
            mask=mask, mask_strides=_broadcast_strides(kind_mask),
            mask_type=0 if kind_mask is None else _MASKS[kind_mask.dtype],
            out=result, out_strides=result.type.strides[:3],
            batch=batch, heads=heads, groups=kind_k.shape[1], length=length,
            keys=kind_k.shape[2], size=size, value_size=kind_v.shape[3],
            scale=float(cast(float, attributes["scale"])),
            left=_bound(attributes.get("left")), right=_bound(attributes.get("right")),
            empty_rows=int(attributes.get("empty_rows", "zero") == "nan"), **out_type,
        )  # fmt: skip


def _bound(value: object) -> int:
    """A bound of the band as the kernel takes it."""
    return _UNBOUNDED if value is None else max(-_UNBOUNDED, min(cast(int, value), _UNBOUNDED))


def _broadcast_strides(mask: TensorType | None) -> list[int]:
    """Strides of the four axes of the scores; 0 where the mask has one entry for all."""
    if mask is None:
        return [0, 0, 0, 0]
    own = [0 if n == 1 else s for n, s in zip(mask.shape, mask.strides, strict=True)]
    return [0] * (4 - len(own)) + own
