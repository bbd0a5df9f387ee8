"""Multi-head attention of 8-bit integers, with or without an integer softmax."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.integer import (
    DEPTH_LIMIT,
    INT32,
    MULTIPLIER_LIMIT,
    SHIFT_LIMIT,
    check_activation,
    check_dyadic,
    integer_product,
    requantize,
)
from forge_ugc.ops.core.integer_exp import (
    DISTANCE_SHIFT_LIMIT,
    METHODS,
    WEIGHT_BITS,
    check_exponential,
    check_method,
    exponentials,
    table_type,
)
from forge_ugc.ops.core.op import Cost, Op, op, require


@op("int8_attention")
class Int8Attention(Op):
    """Every head: s = requantise(q @ k.T), g = weights(s), y = requantise(g @ v).

    q: i8[..., L, heads * D], k, v: i8[..., S, heads * D]; head h owns columns h * D and on. y as q,
    row-major. s = clip(round(q @ k.T * score_multipliers[h] / 2**score_shifts[h]), -128, 127).

    softmax "none": y = clip(round(s @ v * context_multipliers[h] / 2**context_shifts[h])).

    softmax "table" or "polynomial": d = max over the row of s, minus s; the weight g is the
    exponential of d, 0 to 127: from `table`, i8[heads, 256], or from the polynomial with
    t = d * exp_multipliers[h] / 2**exp_shifts[h]. The division by the weights' sum comes after the
    product: r = context_multipliers[h] // sum(g), an integer division once a row, and
    y = clip(round(g @ v * r / 2**context_shifts[h]), -128, 127); context_multipliers are then below
    2**31. So the weights of a row add up to one whatever they were rounded to. See docs/aie.md.
    Source of the form: Vaswani et al. 2017, section 3.2; the integer definition is our own.
    """

    heads: int
    score_multipliers: tuple[int, ...]
    score_shifts: tuple[int, ...]
    context_multipliers: tuple[int, ...]
    context_shifts: tuple[int, ...]
    softmax: str = "none"
    exp_multipliers: tuple[int, ...] = ()
    exp_shifts: tuple[int, ...] = ()

    def infer(
        self, q: TensorType, k: TensorType, v: TensorType, table: TensorType | None = None
    ) -> TensorType:
        for name, kind in (("q", q), ("k", k), ("v", v)):
            check_activation(name, kind, 2)
        keys, width = k.shape[-2:]
        require(k.shape == (*q.shape[:-2], keys, q.shape[-1]), f"k is {k}, q is {q}")
        require(v.shape == k.shape, f"v is {v}, expected the shape of k, {k}")
        divides = self.heads >= 1 and width % self.heads == 0
        require(divides, f"{width} columns cannot be shared out among {self.heads} heads")
        longest = max(keys, width // self.heads)
        require(1 <= keys and longest <= DEPTH_LIMIT,
                f"k is {k}: rows and columns of a head must be 1 to {DEPTH_LIMIT}")  # fmt: skip
        check_method(self.softmax, ("none", *METHODS))
        self._check_factors(table)
        return TensorType.of(DType.I8, q.shape)

    def _check_factors(self, table: TensorType | None) -> None:
        pairs = [("score", self.score_multipliers, self.score_shifts),
                 ("context", self.context_multipliers, self.context_shifts)]  # fmt: skip
        if self.softmax == "polynomial":
            pairs.append(("exp", self.exp_multipliers, self.exp_shifts))
        for name, multipliers, shifts in pairs:
            counts = (len(multipliers), len(shifts))
            require(counts == (self.heads, self.heads),
                    f"{counts[0]} {name}_multipliers and {counts[1]} {name}_shifts for "
                    f"{self.heads} heads")  # fmt: skip
        for head in range(self.heads):
            for name, multipliers, shifts in pairs:
                what = f"the {name} factor of head {head}"
                wide = name == "context" and self.softmax != "none"
                most = DISTANCE_SHIFT_LIMIT if name == "exp" else SHIFT_LIMIT
                limit = INT32 if wide else MULTIPLIER_LIMIT
                check_dyadic(multipliers[head], shifts[head], what, limit=limit, shift_limit=most)
        wanted = table_type(DType.I8, self.heads)
        check_exponential(self.softmax, 1, 0, table, wanted)

    def eval(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor | None = None
    ) -> torch.Tensor:
        size = q.shape[-1] // self.heads
        out = []
        for head in range(self.heads):
            part = slice(head * size, (head + 1) * size)
            out.append(self._head(head, q[..., part], k[..., part], v[..., part], table))
        return torch.cat(out, -1)

    def _head(
        self,
        head: int,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        table: torch.Tensor | None,
    ) -> torch.Tensor:
        acc = integer_product(q, k.transpose(-1, -2))
        s = requantize(acc, self.score_multipliers[head], self.score_shifts[head])
        factor, shift = self.context_multipliers[head], self.context_shifts[head]
        if self.softmax == "none":
            return requantize(integer_product(s, v), factor, shift).to(torch.int8)
        d = s.amax(-1, keepdim=True) - s
        multiplier, right = 1, 0
        if self.softmax == "polynomial":
            multiplier, right = self.exp_multipliers[head], self.exp_shifts[head]
        rows = None if table is None else table[head]
        g = exponentials(d, self.softmax, multiplier, right, rows, WEIGHT_BITS)
        reciprocal = torch.full_like(g[..., :1], factor) // g.sum(-1, keepdim=True)
        return requantize(integer_product(g, v) * reciprocal, 1, shift).to(torch.int8)

    def cost(
        self, q: TensorType, k: TensorType, v: TensorType, table: TensorType | None = None
    ) -> Cost:
        scores = q.numel // max(q.shape[-1], 1) * k.shape[-2] * self.heads
        size = q.shape[-1] // self.heads
        read = sum(kind.size_bytes for kind in (q, k, v, table) if kind is not None)
        steps = 2 if self.softmax == "none" else 18
        return Cost(scores * (4 * size + steps), read + self.infer(q, k, v, table).size_bytes)
