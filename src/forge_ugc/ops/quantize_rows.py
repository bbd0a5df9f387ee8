"""Symmetric int8 quantisation of each row."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import Cost, Op, op, require

LARGEST = 127.0
_SMALL = 2.0**-100


@op("quantize_rows")
class QuantizeRows(Op):
    """q = round(x * (127 / max|x|)) and scale = max|x| / 127, with the maximum of each row.

    x: f32|bf16[..., D] in any layout, q: i8[..., D] row-major, -127 to 127, scale: f32[...], so
    that x is about q * scale. Computed in f32, rounded to nearest even. A row of zeros, or so small
    that its scale rounds to 0, has scale 0 and q 0; one that holds a NaN or an infinity has scale
    NaN and q 0, so that what is computed from it is NaN.
    Source: Dettmers et al. 2022, "LLM.int8()", section 2.1 (absmax, by rows as in section 3).
    """

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        fits = x.dtype in (DType.F32, DType.BF16) and x.rank >= 1
        require(fits, f"x must be f32 or bf16 with a last axis, is {x}")
        return TensorType.of(DType.I8, x.shape), TensorType.of(DType.F32, x.shape[:-1])

    def eval(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        wide = x.float()
        empty = wide.shape[-1] == 0
        largest = wide.new_zeros(x.shape[:-1]) if empty else wide.abs().amax(-1)
        steps = torch.full_like(largest, LARGEST)  # dividing by a number rounds twice
        scale = largest / steps
        # 127 / max may exceed what f32 can hold.
        lift = torch.where(largest < _SMALL, 1 / _SMALL, 1.0).to(wide.dtype)
        usable = largest.isfinite() & (scale > 0)
        factor = torch.where(usable, steps / (largest * lift), 0.0)
        q = (wide * lift[..., None] * factor[..., None]).nan_to_num(nan=0.0).round()
        scale = torch.where(largest.isfinite(), scale, torch.nan)
        return q.to(torch.int8).contiguous(), scale

    def cost(self, x: TensorType) -> Cost:
        q, scale = self.infer(x)
        return Cost(3 * x.numel, x.size_bytes + q.size_bytes + scale.size_bytes)
