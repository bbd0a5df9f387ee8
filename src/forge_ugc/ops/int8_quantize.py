"""Real numbers to 8-bit integers with one step."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import Cost, Op, op, require


@op("int8_quantize")
class Int8Quantize(Op):
    """q = clip(round(x / step), -128, 127), halves to the even number; a NaN becomes 0.

    x: f32[...], q: i8[...] row-major. The quotient is taken in f64.
    Source: Jacob et al. 2018, "Quantization and Training of Neural Networks", section 2.1.
    """

    step: float

    def infer(self, x: TensorType) -> TensorType:
        require(x.dtype is DType.F32, f"x must be f32, is {x}")
        require(self.step > 0, f"step is {self.step}, expected above 0")
        return TensorType.of(DType.I8, x.shape)

    def eval(self, x: torch.Tensor) -> torch.Tensor:
        return (x.double() / self.step).round().clamp(-128, 127).nan_to_num(0.0).to(torch.int8)

    def cost(self, x: TensorType) -> Cost:
        return Cost(2 * x.numel, x.size_bytes + self.infer(x).size_bytes)
