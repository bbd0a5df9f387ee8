"""Scaled dot-product attention with grouped queries, a visible band, and an optional mask."""

from __future__ import annotations

from functools import lru_cache

import torch
import torch.nn.functional as F

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import Cost, Op, op, require


@op("attention")
class Attention(Op):
    """softmax(scale * q @ k.T + mask, over the visible keys) @ v, the softmax in fp32 (f64 in f64).

    q: f64|f32|bf16|f16[B, H, L, D], k: [B, G, S, D], v: [B, G, S, E], G divides H; query head h
    reads key and value head h // (H / G). The result is [B, H, L, E] in q's dtype, and lies in
    memory as [B, L, H, E], so that joining the heads again is a view.

    Query i sees key j if -left <= j - i <= right; None does not bound that side. Causal is right=0,
    causal with o keys before the first query is right=o, a window of w keys is left=w-1, right=0.
    A bool mask hides a key where it is False, a floating-point one is added to the scaled scores;
    either broadcasts to [B, H, L, S]. -inf in an additive mask hides a key.

    `empty_rows` is what a query that sees no key at all yields: "zero", as PyTorch's fused
    attention, or "nan", as a softmax over nothing but -inf. Hidden keys are taken to have finite
    scores and values: a NaN behind the mask need not reach the result.
    Source: Vaswani et al. 2017, section 3.2.1; Ainslie et al. 2023 (grouped queries).
    """

    scale: float
    left: int | None = None
    right: int | None = None
    empty_rows: str = "zero"

    def infer(
        self, q: TensorType, k: TensorType, v: TensorType, mask: TensorType | None = None
    ) -> TensorType:
        require(self.empty_rows in ("zero", "nan"),
                f"empty_rows is {self.empty_rows!r}, expected 'zero' or 'nan'")  # fmt: skip
        for name, kind in (("q", q), ("k", k), ("v", v)):
            require(kind.rank == 4, f"{name} must be [batch, heads, length, size], is {kind}")
            require(
                kind.dtype.is_float and kind.dtype == q.dtype,
                f"q, k and v must share a floating-point type: q is {q}, {name} is {kind}",
            )
        batch, heads, length, size = q.shape
        groups, keys = k.shape[1:3]
        require(k.shape[0] == batch and k.shape[3] == size, f"k is {k}, which does not fit q, {q}")
        require(v.shape[:3] == k.shape[:3], f"v is {v}, which does not fit k, {k}")
        require(groups > 0 and heads % groups == 0,
                f"{heads} query heads cannot be shared out among {groups} key heads")  # fmt: skip
        if mask is not None:
            _check_mask(mask, (batch, heads, length, keys))
        out = v.shape[3]
        strides = (length * heads * out, out, heads * out, 1)
        return TensorType.of(q.dtype, (batch, heads, length, out), strides)

    def eval(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        length, keys = q.shape[2], k.shape[2]
        bounded = self.left is not None or self.right is not None
        may_be_empty = mask is not None or (
            bounded and not bool(band(length, keys, self.left, self.right).any(-1).all())
        )
        if self.empty_rows == "nan" and may_be_empty:
            return self._explicit(q, k, v, mask)
        # PyTorch 2.13's own causal kernel yields NaN for a scale of zero or below.
        if mask is None and self.left is None and self.right == 0 and self.scale > 0:
            return F.scaled_dot_product_attention(
                q, k, v, is_causal=True, scale=self.scale, enable_gqa=q.shape[1] != k.shape[1]
            )
        bias = self._with_band(_rank4(mask), length, keys)
        if bias is not None and bias.dtype not in (torch.bool, q.dtype, torch.float32):
            bias = bias.to(torch.float64 if q.dtype == torch.float64 else torch.float32)
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, scale=self.scale, enable_gqa=q.shape[1] != k.shape[1]
        )

    def cost(
        self, q: TensorType, k: TensorType, v: TensorType, mask: TensorType | None = None
    ) -> Cost:
        batch, heads, length, size = q.shape
        pairs = visible_pairs(length, k.shape[2], self.left, self.right)
        flops = 2 * batch * heads * pairs * (size + v.shape[3])
        written = batch * heads * length * v.shape[3] * q.dtype.size_bytes
        kinds = [kind for kind in (q, k, v, mask) if kind is not None]
        return Cost(flops, written + sum(kind.size_bytes for kind in kinds))

    def _explicit(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """The chain of operators that a model without fused attention runs, in fp32."""
        wide = torch.float64 if q.dtype == torch.float64 else torch.float32
        shared = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(shared, 1) if shared > 1 else x for x in (k, v))
        scores = (q.to(wide) @ k.to(wide).transpose(-1, -2)) * self.scale
        bias = self._with_band(mask, q.shape[2], k.shape[2])
        if bias is not None and bias.dtype == torch.bool:
            scores = scores.masked_fill(~bias, float("-inf"))
        elif bias is not None:
            scores = scores + bias.to(wide)
        return (scores.softmax(-1) @ v.to(wide)).to(q.dtype)

    def _with_band(self, mask: torch.Tensor | None, length: int, keys: int) -> torch.Tensor | None:
        """The mask with everything outside the band hidden; None if there is nothing to hide."""
        if self.left is None and self.right is None:
            return mask
        visible = band(length, keys, self.left, self.right)
        if mask is None:
            return visible
        if mask.dtype == torch.bool:
            return mask & visible
        return mask.masked_fill(~visible, float("-inf"))


@lru_cache(maxsize=16)
def band(length: int, keys: int, left: int | None, right: int | None) -> torch.Tensor:
    """Which of `keys` keys each of `length` queries sees: bool[length, keys], not to be written."""
    # On the cpu whatever the caller's default device is: the result is kept.
    row, column = torch.arange(length, device="cpu"), torch.arange(keys, device="cpu")
    offset = column[None, :] - row[:, None]
    visible = torch.ones(length, keys, dtype=torch.bool, device="cpu")
    if left is not None:
        visible &= offset >= -left
    if right is not None:
        visible &= offset <= right
    return visible


def visible_pairs(length: int, keys: int, left: int | None, right: int | None) -> int:
    """How many pairs of a query and a key lie in the band. Linear in `length`."""
    if left is None and right is None:
        return length * keys
    total = 0
    for i in range(length):
        first = 0 if left is None else max(0, i - left)
        last = keys - 1 if right is None else min(keys - 1, i + right)
        total += max(0, last - first + 1)
    return total


def _rank4(mask: torch.Tensor | None) -> torch.Tensor | None:
    return mask if mask is None else mask[(None,) * (4 - mask.dim())]


def _check_mask(mask: TensorType, scores: tuple[int, ...]) -> None:
    require(mask.dtype == DType.BOOL or mask.dtype.is_float,
            f"mask must be bool or floating point, is {mask}")  # fmt: skip
    pairs = zip(reversed(mask.shape), reversed(scores), strict=False)
    fits = mask.rank <= 4 and all(have in (1, want) for have, want in pairs)
    require(fits, f"mask is {mask}, which does not broadcast to {list(scores)}")
