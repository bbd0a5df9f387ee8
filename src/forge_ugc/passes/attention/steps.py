"""What can happen to attention scores, and what it amounts to: a band and one mask operand."""

from __future__ import annotations

import math
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
    """scores + weight * mask. `lead` is the shape of the scores here, without queries and keys."""

    mask: fx.Node
    weight: float
    lead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """where(mask == keep, scores, value): -inf, or so low a number that it absorbs every score."""

    mask: fx.Node
    keep: bool
    value: float
    lead: tuple[int, ...]


Step = Add | Fill


@dataclass(frozen=True, slots=True)
class Frame:
    """The sizes of scores [batch, heads, queries, keys], which a model may regroup in between.

    Known groupings of the leading axes: [batch, heads], [batch*heads], and [b, windows, heads]
    where b * windows is the batch.
    """

    batch: int
    heads: int
    queries: int
    keys: int

    def fits(self, lead: tuple[int, ...]) -> bool:
        """True if scores with these leading axes are grouped in a known way."""
        if len(lead) == 3:
            lead = (lead[0] * lead[1], lead[2])
        if len(lead) == 2:
            return lead == (self.batch, self.heads)
        return len(lead) < 2 and math.prod(lead) == self.batch * self.heads

    def regrouped(
        self, shape: tuple[int, ...], lead: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """(shape to expand to, shape to reshape to) of a mask on scores with these leading axes.

        None where it broadcasts to [batch, heads, queries, keys] as it is.
        """
        extra = shape[:-2]
        if all(size == 1 for size in extra):
            return (shape, shape[-4:]) if len(shape) > 4 else None
        if len(lead) == 1:
            return shape, (self.batch, self.heads, *shape[-2:])
        if len(lead) < 3 or len(extra) == 1:
            return None
        *windows, heads = (1,) * (3 - len(extra)) + extra
        if windows == [1, 1]:
            return shape, (1, heads, *shape[-2:])
        return (*lead[:2], heads, *shape[-2:]), (self.batch, heads, *shape[-2:])


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
