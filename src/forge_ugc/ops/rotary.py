"""Rotary position embedding."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.layout import like
from forge_ugc.ops.core.op import Cost, Op, op, require
from forge_ugc.ops.core.result_type import result_type, rounded
from forge_ugc.ops.core.torch_types import from_torch, to_torch


@op("rotary")
class Rotary(Op):
    """Turn pairs (a, b) of x's last axis by an angle: (a cos - b sin, b cos + a sin).

    x: f64|f32|bf16|f16[..., D]. The first R = `rotary_dim` elements (all D if None) are turned, the
    rest passes through. Pair i is (x[i], x[i + R/2]), or (x[2i], x[2i+1]) if `interleaved`.
    cos, sin: one shape that broadcasts to x's, last axis R (one value per element: the pair's two
    values may differ) or R/2 (one value per pair). The result has x's shape and the promotion of
    the dtypes; every multiplication and addition rounds to the promotion of its operands. Its
    layout is that of x if `rotary_dim` is None and cos holds D values, else row-major. With `dtype`
    (the operands are f32 or bf16) it is computed in f32 and rounded once, to that type.
    Source: Su et al. 2021, "RoFormer", section 3.4.2.
    """

    interleaved: bool = False
    rotary_dim: int | None = None
    dtype: str | None = None

    def infer(self, x: TensorType, cos: TensorType, sin: TensorType) -> TensorType:
        require(x.rank >= 1, f"x must have a last axis, is {x}")
        for kind in (x, cos, sin):
            require(kind.dtype.is_float, f"x, cos and sin must be floating point, one is {kind}")
        turned = x.shape[-1] if self.rotary_dim is None else self.rotary_dim
        require(0 < turned <= x.shape[-1] and turned % 2 == 0,
                f"{turned} elements of x {x} cannot be turned in pairs")  # fmt: skip
        require(cos.shape == sin.shape, f"cos is {cos}, sin is {sin}")
        require(cos.rank >= 1 and cos.shape[-1] in (turned, turned // 2),
                f"cos is {cos}, expected a last axis of {turned} or {turned // 2}")  # fmt: skip
        lead = x.shape[: x.rank - cos.rank] if cos.rank <= x.rank else None
        fits = lead is not None and all(
            c in (1, n) for c, n in zip(cos.shape[:-1], x.shape[len(lead) : -1], strict=True)
        )
        require(fits, f"cos is {cos}, which does not broadcast to x {x}")
        dtype = torch.promote_types(to_torch(x.dtype), to_torch(cos.dtype))
        dtype = torch.promote_types(dtype, to_torch(sin.dtype))
        whole = self.rotary_dim is None and cos.shape[-1] == turned
        packed = like(x) if whole else x.contiguous()
        return packed.with_dtype(result_type(self.dtype, from_torch(dtype)))

    def eval(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        if self.dtype is not None:
            return rounded(self._turned(x.float(), cos.float(), sin.float()), self.dtype)
        return self._turned(x, cos, sin)

    def _turned(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        turned = x.shape[-1] if self.rotary_dim is None else self.rotary_dim
        head, rest = x[..., :turned], x[..., turned:]
        if self.interleaved:
            a, b = head[..., ::2], head[..., 1::2]
        else:
            a, b = head[..., : turned // 2], head[..., turned // 2 :]
        if cos.shape[-1] == turned:
            y = head * cos + self._join(-b, a) * sin
        else:
            y = self._join(a * cos - b * sin, b * cos + a * sin)
        return y if rest.shape[-1] == 0 else torch.cat((y, rest), -1)

    def _join(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if self.interleaved:
            return torch.stack((a, b), -1).flatten(-2)
        return torch.cat((a, b), -1)

    def cost(self, x: TensorType, cos: TensorType, sin: TensorType) -> Cost:
        turned = x.shape[-1] if self.rotary_dim is None else self.rotary_dim
        elements = x.numel // x.shape[-1] * turned
        moved = x.size_bytes + cos.size_bytes + sin.size_bytes
        return Cost(3 * elements, moved + self.infer(x, cos, sin).size_bytes)
