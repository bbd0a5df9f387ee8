"""What can happen to attention scores, and what it amounts to: a band and one mask operand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import fx

from forge_ugc.npuir.types import DType
from forge_ugc.ops.attention import band
from forge_ugc.passes.attention.band import Band
from forge_ugc.passes.attention.peeling import typed
from forge_ugc.passes.graph import aten, constant_of, is_call

NEVER = float("-inf")
LOWEST = torch.finfo(torch.float32).min


@dataclass(frozen=True, slots=True)
class Add:
    """scores + weight * mask. `rank` is that of the scores at this point."""

    mask: fx.Node
    weight: float
    rank: int


@dataclass(frozen=True, slots=True)
class Fill:
    """where(mask == keep, scores, value): -inf, or so low a number that it absorbs every score."""

    mask: fx.Node
    keep: bool
    value: float
    rank: int


Step = Add | Fill


@dataclass(frozen=True, slots=True)
class Frame:
    """How scores relate to [batch, heads, queries, keys]; of rank 3 they are [batch*heads, ...]."""

    batch: int
    heads: int
    queries: int
    keys: int


@dataclass(frozen=True, slots=True)
class Mask:
    """A band, and the mask operand where one remains."""

    band: Band
    operand: fx.Node | None

    def may_hide_all(self, frame: Frame) -> bool:
        """True unless it is certain that every query sees a key."""
        visible = band(frame.queries, frame.keys, self.band.left, self.band.right)
        if self.operand is not None:
            value = constant_of(self.operand)
            if value is None:
                return True
            visible = visible & (value if value.dtype == torch.bool else value != NEVER)
        return not bool(visible.any(-1).all())

    def __str__(self) -> str:
        if self.operand is None:
            return str(self.band)
        kind = typed(self.operand)
        if kind.dtype != DType.BOOL:
            rest = "additive"
        else:
            rest = "key padding" if kind.rank < 2 or kind.shape[-2] == 1 else "bool"
        return rest if self.band == Band() else f"{self.band} + {rest}"


def choices(node: fx.Node) -> tuple[fx.Node, object, object] | None:
    """(condition, value where True, value where False) of a `where` or `masked_fill`."""
    if is_call(node, aten.where) and len(node.args) == 3:
        return cast(tuple[fx.Node, object, object], tuple(node.args))
    if is_call(node, aten.masked_fill):
        scores, condition, value = node.args
        return cast(fx.Node, condition), value, scores
    return None
