"""Mean or maximum of 8-bit integers over one axis."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.integer import DEPTH_LIMIT, check_activation, check_dyadic, requantize
from forge_ugc.ops.core.op import Cost, Op, op, require

KINDS = ("mean", "max")


@op("int8_pool")
class Int8Pool(Op):
    """y = clip(round(r * multiplier / 2**shift), -128, 127), r the sum or maximum over the rows.

    x: i8[..., T, C], T at least 1; y: i8[..., C] row-major, or i8[..., 1, C] with keepdim. A mean
    has 1 / T in its factor. One rounding, halves to the even number; ReLU after it if asked for.
    """

    kind: str
    multiplier: int
    shift: int
    keepdim: bool = False
    relu: bool = False

    def infer(self, x: TensorType) -> TensorType:
        check_activation("x", x, 2)
        require(self.kind in KINDS, f"kind is {self.kind!r}, expected one of {', '.join(KINDS)}")
        rows = x.shape[-2]
        require(1 <= rows <= DEPTH_LIMIT, f"x is {x}, expected 1 to {DEPTH_LIMIT} rows")
        check_dyadic(self.multiplier, self.shift, "the factor")
        kept = (1,) if self.keepdim else ()
        return TensorType.of(DType.I8, (*x.shape[:-2], *kept, x.shape[-1]))

    def eval(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.long()
        if self.kind == "mean":
            acc = wide.sum(-2, keepdim=self.keepdim)
        else:
            acc = wide.amax(-2, keepdim=self.keepdim)
        return requantize(acc, self.multiplier, self.shift, 0 if self.relu else -128).to(torch.int8)

    def cost(self, x: TensorType) -> Cost:
        y = self.infer(x)
        return Cost(x.numel + 2 * y.numel, x.size_bytes + y.size_bytes)
