"""Layer normalisation whose result has a type of its own."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import Cost, Op, op, require
from forge_ugc.ops.core.result_type import result_type, rounded


@op("layer_norm")
class LayerNorm(Op):
    """y = (x - mean(x, -1)) / sqrt(var(x, -1) + eps) * w + b, computed in f32, rounded once.

    x: f32|bf16[..., D], w and b: f32|bf16[D] or absent, y: [..., D] row-major, of x's type or of
    the one that `dtype` names. The variance is that of the population. Where all are of one type,
    graphs hold PyTorch's own `aten.layer_norm` instead.
    Source: Ba et al. 2016, "Layer Normalization".
    """

    eps: float = 1e-5
    dtype: str | None = None

    def infer(
        self, x: TensorType, w: TensorType | None = None, b: TensorType | None = None
    ) -> TensorType:
        mixed = (DType.F32, DType.BF16)
        require(x.dtype in mixed and x.rank >= 1, f"x must be f32 or bf16 with a last axis, is {x}")
        for name, kind in (("weight", w), ("bias", b)):
            fits = kind is None or (kind.shape == x.shape[-1:] and kind.dtype in mixed)
            require(fits, f"{name} is {kind}, expected f32 or bf16 [{x.shape[-1]}]")
        return TensorType.of(result_type(self.dtype, x.dtype), x.shape)

    def eval(
        self, x: torch.Tensor, w: torch.Tensor | None = None, b: torch.Tensor | None = None
    ) -> torch.Tensor:
        weight, bias = (None if t is None else t.float() for t in (w, b))
        y = F.layer_norm(x.float(), x.shape[-1:], weight, bias, self.eps)
        return y.to(x.dtype) if self.dtype is None else rounded(y, self.dtype)

    def cost(self, x: TensorType, w: TensorType | None = None, b: TensorType | None = None) -> Cost:
        read = sum(kind.size_bytes for kind in (x, w, b) if kind is not None)
        return Cost(8 * x.numel, read + self.infer(x, w, b).size_bytes)
