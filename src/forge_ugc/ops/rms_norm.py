"""Root-mean-square normalisation with its upcasts."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.layout import like
from forge_ugc.ops.core.op import Cost, Op, op, require
from forge_ugc.ops.core.result_type import result_type, rounded
from forge_ugc.ops.core.torch_types import from_torch, to_torch


@op("rms_norm")
class RmsNorm(Op):
    """y = x / sqrt(mean(x*x, -1) + eps) * (w + weight_offset), computed in fp32 (f64 stays f64).

    x: f64|f32|bf16|f16[..., D], w: [D] or absent. With `cast_before_weight` the normalised value is
    rounded to x's dtype before the weight multiplies it (Llama); otherwise after (Gemma). The
    result has x's dtype, or the promotion of x's and w's if the cast comes first; its elements lie
    in memory in x's order. With `dtype` (x and w are f32 or bf16) the result has that type, and is
    rounded once, whatever `cast_before_weight` says.
    Source: Zhang & Sennrich 2019, "Root Mean Square Layer Normalization".
    """

    eps: float = 1e-6
    weight_offset: float = 0.0
    cast_before_weight: bool = True
    dtype: str | None = None
    inplace_operands = ("x",)

    def infer(self, x: TensorType, w: TensorType | None = None) -> TensorType:
        require(
            x.dtype.is_float and x.rank >= 1, f"x must be floating point with a last axis, is {x}"
        )
        if w is not None:
            require(w.shape == x.shape[-1:], f"weight is {w}, expected [{x.shape[-1]}]")
        if self.dtype is not None:
            mixes = w is None or w.dtype in (DType.F32, DType.BF16)
            require(mixes, f"weight is {w}, expected f32 or bf16 beside dtype = {self.dtype!r}")
            return like(x, result_type(self.dtype, x.dtype))
        if w is None or not self.cast_before_weight:
            return like(x)
        promoted = torch.promote_types(to_torch(x.dtype), to_torch(w.dtype))
        return like(x, from_torch(promoted))

    def eval(self, x: torch.Tensor, w: torch.Tensor | None = None) -> torch.Tensor:
        h = x if x.dtype == torch.float64 else x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        if self.dtype is not None:
            return rounded(h if w is None else (w.float() + self.weight_offset) * h, self.dtype)
        if self.cast_before_weight:
            h = h.to(x.dtype)
        if w is None:
            return h.to(x.dtype)
        scale = w if self.cast_before_weight else w.to(h.dtype)
        scale = scale + self.weight_offset if self.weight_offset else scale
        y = scale * h
        return y if self.cast_before_weight else y.to(x.dtype)

    def cost(self, x: TensorType, w: TensorType | None = None) -> Cost:
        y = self.infer(x, w)
        return Cost(4 * x.numel, x.size_bytes + y.size_bytes + (w.size_bytes if w else 0))
