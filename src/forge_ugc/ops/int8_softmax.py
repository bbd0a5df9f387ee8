"""Softmax of 8-bit integers over the last axis, in integers alone."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.integer import check_activation, round_shift
from forge_ugc.ops.core.integer_exp import (
    METHODS,
    ONE,
    check_exponential,
    check_method,
    exponentials,
    table_type,
)
from forge_ugc.ops.core.op import Cost, Op, op, require

LARGEST_ROW = ((1 << 31) - 1) // ONE
RECIPROCAL_SHIFTS = {7: 21, 8: 20}
"""Of the sum's reciprocal, so that it fits an i16, by bits of the result."""


@op("int8_softmax")
class Int8Softmax(Op):
    """q_j = min(round(e_j * r / 2**k), 2**bits - 1), with r = (2**bits - 1) * 2**k // sum(e).

    x: i8[..., T]; q: i8 of 0 to 127 (bits 7) or u8 (bits 8), as x, row-major; k is 21 or 20.
    e_j is the exponential of d_j = max(x) - x_j, 0 to 16256: `table`, i16[256], holds them
    ("table"), or they come from a polynomial with t = d * multiplier / 2**shift ("polynomial").
    See docs/aie.md. Source of the form: Kim et al. 2021, "I-BERT", section 3.5; the polynomial is
    our own.
    """

    method: str
    multiplier: int = 1
    shift: int = 0
    bits: int = 7

    def infer(self, x: TensorType, table: TensorType | None = None) -> TensorType:
        check_activation("x", x, 1)
        check_method(self.method, METHODS)
        require(self.bits in RECIPROCAL_SHIFTS, f"bits is {self.bits}, expected 7 or 8")
        wanted = table_type(DType.I16)
        check_exponential(self.method, self.multiplier, self.shift, table, wanted)
        columns = x.shape[-1]
        require(1 <= columns <= LARGEST_ROW, f"x is {x}, expected 1 to {LARGEST_ROW} columns")
        return TensorType.of(DType.I8 if self.bits == 7 else DType.U8, x.shape)

    def eval(self, x: torch.Tensor, table: torch.Tensor | None = None) -> torch.Tensor:
        wide = x.long()
        d = wide.amax(-1, keepdim=True) - wide
        e = exponentials(d, self.method, self.multiplier, self.shift, table)
        largest, k = (1 << self.bits) - 1, RECIPROCAL_SHIFTS[self.bits]
        reciprocal = (largest << k) // e.sum(-1, keepdim=True)
        q = round_shift(e * reciprocal, k).clamp(max=largest)
        return q.to(torch.int8 if self.bits == 7 else torch.uint8)

    def cost(self, x: TensorType, table: TensorType | None = None) -> Cost:
        read = x.size_bytes + (0 if table is None else table.size_bytes)
        return Cost(16 * x.numel, read + self.infer(x, table).size_bytes)
