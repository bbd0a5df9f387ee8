"""A linear layer of 8-bit integers."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.integer import (
    DEPTH_LIMIT,
    check_activation,
    check_dyadic,
    check_int32,
    integer_product,
    requantize,
)
from forge_ugc.ops.core.op import Cost, Op, op, require


@op("int8_linear")
class Int8Linear(Op):
    """y = clip(round((x @ w.T + b) * multiplier / 2**shift), -128, 127), then ReLU if asked for.

    x: i8[..., K], w: i8[N, K], b: i32[N], y: i8[..., N] row-major. The sum is exact and has to fit
    an i32; one rounding, halves to the even number.
    Source: Jacob et al. 2018, "Quantization and Training of Neural Networks", section 2.2.
    """

    multiplier: int
    shift: int
    relu: bool = False

    def infer(self, x: TensorType, w: TensorType, b: TensorType | None = None) -> TensorType:
        check_activation("x", x, 1)
        check_activation("w", w, 2)
        check_dyadic(self.multiplier, self.shift, "the factor")
        depth = x.shape[-1]
        fits = w.rank == 2 and w.shape[1] == depth
        require(fits, f"w is {w}, expected i8[out,{depth}] for x {x}")
        require(depth <= DEPTH_LIMIT,
                f"x has {depth} columns; sums of more than {DEPTH_LIMIT} may overflow")  # fmt: skip
        bias = TensorType.of(DType.I32, w.shape[:1])
        require(b in (None, bias), f"b is {b}, expected {bias}")
        return TensorType.of(DType.I8, (*x.shape[:-1], w.shape[0]))

    def eval(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
        acc = integer_product(x, w.t())
        acc = check_int32(acc if b is None else acc + b.long(), "int8_linear")
        return requantize(acc, self.multiplier, self.shift, 0 if self.relu else -128).to(torch.int8)

    def cost(self, x: TensorType, w: TensorType, b: TensorType | None = None) -> Cost:
        y = self.infer(x, w, b)
        read = sum(kind.size_bytes for kind in (x, w, b) if kind is not None)
        return Cost(2 * y.numel * (w.shape[1] + 1), read + y.size_bytes)
