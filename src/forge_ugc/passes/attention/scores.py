"""Finds q, k, scale and masks behind the input of a softmax, and the values after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import fx
from torch._ops import OpOverload

from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.torch_types import to_torch
from forge_ugc.passes.attention.band import HIDES
from forge_ugc.passes.attention.peeling import (
    called,
    float_cast,
    fold_between,
    keeps_last_two,
    number,
    same_values,
    scaling,
    source_of,
    typed,
)  # fmt: skip
from forge_ugc.passes.attention.steps import LOWEST, NEVER, Add, Fill, Step, choices
from forge_ugc.passes.base import No
from forge_ugc.passes.graph import aten, is_call, tensor_type

PRODUCTS = (aten.matmul, aten.bmm, aten.baddbmm)
_LONGEST = 24  # operators between the two products; the longest seen in a model is nine
_ABSORBED = -1e30  # adding any score to a number below this leaves it as it is in fp32


@dataclass(frozen=True, slots=True)
class Factor:
    """A tensor that multiplies or divides every score of a query, such as a scale per head."""

    operator: OpOverload
    value: fx.Node
    lead: tuple[int, ...]
    """The shape of the scores that it was applied to, without queries and keys."""
    below: int
    """How many of the steps happened after it."""


@dataclass(frozen=True, slots=True)
class Scores:
    """scale * (left by `factors`) @ right, then `steps` from the last to the first.

    left: [..., L, D], right: [..., D, S]; `path` holds every node from the softmax's input down to
    the product; `fold` is (batch, heads) where a view between [B*H, L, S] and [B, H, L, S] shows.
    """

    left: fx.Node
    right: fx.Node
    scale: float
    factors: tuple[Factor, ...]
    steps: tuple[Step, ...]
    path: tuple[fx.Node, ...]
    fold: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class _Walk:
    """What was met on the way from the softmax upwards."""

    scale: float = 1.0
    steps: tuple[Step, ...] = ()
    factors: tuple[Factor, ...] = ()
    path: tuple[fx.Node, ...] = ()
    fold: tuple[int, int] | None = None


def scores_of(node: fx.Node) -> Scores | No | None:
    """Trace the input of a softmax up to the product of queries and keys.

    None if no product is near: this softmax is no attention.
    """
    return _trace(node, _Walk())


def _trace(node: fx.Node, walk: _Walk) -> Scores | No | None:
    while len(walk.path) < _LONGEST:
        kind = tensor_type(node)
        if kind is None or kind.rank < 2:
            return None
        walk = replace(walk, path=(*walk.path, node))
        if is_call(node, *PRODUCTS):
            return _product(node, walk)
        if is_call(node, aten.add, aten.sub):
            return _trace_sum(node, walk)
        moved = _step(node, walk)
        if moved is None:
            return _unknown(node)
        if isinstance(moved, No):
            return moved
        node, walk = moved
    return _unknown(node)


def _step(node: fx.Node, walk: _Walk) -> tuple[fx.Node, _Walk] | No | None:
    """One operator with a single way up; None if it is not understood."""
    if same_values(node) or float_cast(node):
        return source_of(node), walk
    if is_call(node, aten.expand) and typed(source_of(node)).shape == typed(node).shape:
        return source_of(node), walk
    if keeps_last_two(node):
        fold = fold_between(node)
        if walk.fold is not None and fold is not None and fold != walk.fold:
            return No(f"heads are grouped as {walk.fold} and as {fold}", node)
        return source_of(node), replace(walk, fold=walk.fold or fold)
    scaled = scaling(node)
    if scaled is not None:
        return scaled[0], replace(walk, scale=walk.scale * scaled[1])
    factor = _factor(node, len(walk.steps))
    if factor is not None:
        return source_of(node), replace(walk, factors=(*walk.factors, factor))
    return _fill(node, walk)


def _factor(node: fx.Node, below: int) -> Factor | None:
    """Scores * t or scores / t where t is the same for all keys."""
    if not is_call(node, aten.mul.Tensor, aten.div.Tensor):
        return None
    kind, by = typed(node), tensor_type(node.args[1])
    if by is None or by.dtype != kind.dtype or not _has_shape(node.args[0], kind.shape):
        return None
    if by.rank > 0 and by.shape[-1] != 1:
        return None
    return Factor(
        cast(OpOverload, node.target), cast(fx.Node, node.args[1]), kind.shape[:-2], below
    )


def _fill(node: fx.Node, walk: _Walk) -> tuple[fx.Node, _Walk] | No | None:
    found = choices(node)
    if found is None:
        return None
    mask, yes, no = found
    shape = typed(node).shape
    keep = _has_shape(yes, shape) and _filling(no) is not None
    if not keep and not (_has_shape(no, shape) and _filling(yes) is not None):
        return None
    kind = tensor_type(mask)
    if kind is None or kind.dtype != DType.BOOL:
        return No(f"the mask of {called(node)} is {kind}, not bool", node)
    value = cast(float, _filling(no if keep else yes)) * walk.scale
    if not value <= HIDES:
        return No(f"hidden scores become {value:g}, which need not hide a key", node)
    if value < torch.finfo(to_torch(typed(node).dtype)).min:
        value = NEVER
    step = Fill(mask, keep, value, shape[:-2])
    return cast(fx.Node, yes if keep else no), replace(walk, steps=(*walk.steps, step))


def _trace_sum(node: fx.Node, walk: _Walk) -> Scores | No | None:
    """The side that leads to a product holds the scores, the other one is a mask."""
    shape, alpha = typed(node).shape, node.kwargs.get("alpha", 1)
    sides = cast(Sequence[object], node.args[:2])
    minus = -1.0 if is_call(node, aten.sub) else 1.0
    refusal: No | None = None
    for scores, other, turned in ((*sides, False), (*reversed(sides), True)):
        if not _has_shape(scores, shape) or alpha != 1:
            continue
        kind = tensor_type(other)
        added = walk.scale if turned else walk.scale * minus
        below = replace(walk, scale=walk.scale * minus) if turned else walk
        if kind is not None:
            step = Add(cast(fx.Node, other), added, shape[:-2])
            below = replace(below, steps=(*walk.steps, step))
        elif not math.isfinite(number(other) or 0.0):
            continue
        found = _trace(cast(fx.Node, scores), below)
        if isinstance(found, Scores) and kind is not None and not kind.dtype.is_float:
            return No(f"the mask that is added is {kind}, not floating point", node)
        if isinstance(found, Scores):
            return found
        refusal = refusal or found
    return refusal or _unknown(node)


def _product(node: fx.Node, walk: _Walk) -> Scores | No:
    left, right = cast(tuple[fx.Node, fx.Node], node.args[-2:])
    scale, steps = walk.scale, walk.steps
    if is_call(node, aten.baddbmm):
        beta, alpha = (cast(float, node.kwargs.get(k, 1.0)) for k in ("beta", "alpha"))
        if beta != 0.0:
            steps = (*steps, Add(source_of(node), scale * beta, typed(node).shape[:-2]))
        scale *= alpha
    if typed(left).rank != typed(right).rank or not 2 <= typed(left).rank <= 4:
        return No(f"queries have rank {typed(left).rank} and keys rank {typed(right).rank}; "
                  "both must have one rank of 2, 3 or 4", node)  # fmt: skip
    left, scale = unscaled(left, scale)
    right, scale = unscaled(right, scale)
    if not math.isfinite(scale):
        return No(f"the scale is {scale}", node)
    settled = _settled(steps)
    if settled is None:
        return No("a key is hidden by a moderate number next to another mask, "
                  "so that a wholly hidden row depends on both", node)  # fmt: skip
    for factor in walk.factors:
        if steps[factor.below :]:
            return No(f"the scores are multiplied by {factor.value.name} after a mask", node)
        if factor.lead != typed(node).shape[:-2]:
            return No(f"the scores are regrouped before {factor.value.name} multiplies them", node)
    return Scores(left, right, scale, walk.factors, settled, walk.path, walk.fold)


def _settled(steps: tuple[Step, ...]) -> tuple[Step, ...] | None:
    """The steps with fills that absorb every score; None if that would change what they mean.

    where(m, s, -1e9) is -1e9 whatever s is, but s - 1e9 is not, so the fill is made the lowest
    number. A wholly hidden row averages over all keys either way, if it is the only mask.
    """
    fills = {s.value for s in steps if isinstance(s, Fill) and s.value != NEVER}
    if all(value <= _ABSORBED for value in fills):
        return steps
    if len(fills) > 1 or any(isinstance(s, Add) for s in steps):
        return None
    return tuple(
        replace(s, value=LOWEST) if isinstance(s, Fill) and s.value != NEVER else s for s in steps
    )


def unscaled(node: fx.Node, scale: float) -> tuple[fx.Node, float]:
    """(operand of the product without copies and scalings, scale times what was taken off)."""
    while True:
        scaled = scaling(node)
        if scaled is not None:
            node, scale = scaled[0], scale * scaled[1]
        elif same_values(node):
            node = source_of(node)
        else:
            return node, scale


def _filling(value: object) -> float | None:
    return number(value, most=1 << 22)


def _has_shape(value: object, shape: tuple[int, ...]) -> bool:
    kind = tensor_type(value)
    return kind is not None and kind.shape == shape and kind.dtype.is_float


def _unknown(node: fx.Node) -> No | None:
    """A near miss if queries and keys were multiplied a little further up."""
    near = [node]
    for _ in range(4):
        near = [source for n in near for source in n.all_input_nodes][:8]
        if any(is_call(n, *PRODUCTS) for n in near):
            return No(f"the scores pass through {called(node)} before the softmax", node)
    return None
