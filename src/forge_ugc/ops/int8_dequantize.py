"""8-bit integers to the real numbers that they stand for."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.integer import check_activation
from forge_ugc.ops.core.op import Cost, Op, op, require


@op("int8_dequantize")
class Int8Dequantize(Op):
    """x = q * step, rounded to f32 once. q: i8[...], x: f32[...] row-major.

    Source: Jacob et al. 2018, "Quantization and Training of Neural Networks", section 2.1.
    """

    step: float

    def infer(self, q: TensorType) -> TensorType:
        check_activation("q", q, 0)
        require(self.step > 0, f"step is {self.step}, expected above 0")
        return TensorType.of(DType.F32, q.shape)

    def eval(self, q: torch.Tensor) -> torch.Tensor:
        return (q.double() * self.step).float()

    def cost(self, q: TensorType) -> Cost:
        return Cost(q.numel, q.size_bytes + self.infer(q).size_bytes)
