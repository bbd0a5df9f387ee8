"""Sum of two 8-bit integer tensors of different scales."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.integer import check_activation, check_dyadic, round_shift
from forge_ugc.ops.core.op import Cost, Op, op, require


@op("int8_add")
class Int8Add(Op):
    """y = clip(round((a * multiplier_a + b * multiplier_b) / 2**shift), -128, 127), ReLU if asked.

    a, b, y: i8[...] of one shape, y row-major. One rounding of the exact sum, halves to the even
    number.
    """

    multiplier_a: int
    multiplier_b: int
    shift: int
    relu: bool = False

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        check_activation("a", a, 1)
        check_activation("b", b, 1)
        require(a.shape == b.shape, f"a is {a} and b is {b}: their shapes differ")
        check_dyadic(self.multiplier_a, self.shift, "the factor of a")
        check_dyadic(self.multiplier_b, self.shift, "the factor of b")
        return TensorType.of(DType.I8, a.shape)

    def eval(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        acc = a.long() * self.multiplier_a + b.long() * self.multiplier_b
        y = round_shift(acc, self.shift).clamp(0 if self.relu else -128, 127)
        return y.to(torch.int8)

    def cost(self, a: TensorType, b: TensorType) -> Cost:
        return Cost(4 * a.numel, a.size_bytes + b.size_bytes + self.infer(a, b).size_bytes)
