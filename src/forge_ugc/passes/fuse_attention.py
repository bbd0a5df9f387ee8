"""Fuses attention, whole or decomposed into products and softmax, into the `attention` operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import fx

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.attention import Attention
from forge_ugc.ops.core.torch_types import to_torch
from forge_ugc.passes.attention.band import Band
from forge_ugc.passes.attention.einsum import EinsumToMatmul
from forge_ugc.passes.attention.heads import has_type, in_type, keys_of, lift, share_heads
from forge_ugc.passes.attention.mask import build_mask
from forge_ugc.passes.attention.peeling import bare, fold_between, source_of, typed
from forge_ugc.passes.attention.scores import (
    Factor,
    Scores,
    scores_of,
    unscaled,
)  # fmt: skip
from forge_ugc.passes.attention.steps import NEVER, Add, Fill, Frame, Mask, Step
from forge_ugc.passes.attention.weights import Weighted, weighted_values
from forge_ugc.passes.base import No, Rewrite, RewritePass, graph_pass
from forge_ugc.passes.core.arguments import bound
from forge_ugc.passes.graph import aten, emit, is_call, tensor_type
from forge_ugc.passes.replacing import erase_dead, replace


@dataclass(frozen=True, slots=True)
class _Found:
    """An attention: operands as the model has them, and what the new node replaces.

    `turned` says that k is [..., D, S]; `factors` multiply or divide q.
    """

    q: fx.Node
    k: fx.Node
    v: fx.Node
    turned: bool
    factors: tuple[Factor, ...]
    steps: tuple[Step, ...]
    frame: Frame
    scale: float
    causal: bool
    empty_rows: str
    replaced: fx.Node


class _Fusion(Rewrite):
    """What both rewrites share: the masks of one run, which layers have in common."""

    def __init__(self) -> None:
        self._masks: dict[tuple[object, ...], tuple[Mask, bool]] = {}

    def _fuse(self, found: _Found) -> fx.Node:
        """Put the operator in; every condition has been checked."""
        old, by, frame = found.replaced, self.name, found.frame
        before = old.prev
        q, k = (in_type(x, typed(found.v).dtype, old, by) for x in (found.q, found.k))
        k = keys_of(k, old, by) if found.turned else k
        for factor in found.factors:
            q = emit(old, factor.operator, [q, factor.value], by=by)
        q, k, v = (lift(x, frame, old, by) for x in (q, k, found.v))
        q, scale = unscaled(q, found.scale)
        k, scale = unscaled(k, scale)
        q, k, v = share_heads(q, k, v, old, by)
        mask, may_be_empty = self._mask(found)
        config = Attention(
            scale=scale,
            left=mask.band.left,
            right=mask.band.right,
            empty_rows=found.empty_rows if may_be_empty else "zero",
        )
        operands = [q, k, v] if mask.operand is None else [q, k, v, mask.operand]
        fused = emit(old, config, operands, by=by)
        fused.meta["note"] = f"mask: {mask}"
        made = _between(before, old)
        replace(*_lowered(old, fused, by))
        erase_dead(made)
        return fused

    def _mask(self, found: _Found) -> tuple[Mask, bool]:
        """The mask, and whether it may hide every key of a query. Layers share the node."""
        key, old = (found.steps, found.frame, found.causal), found.replaced
        known = self._masks.get(key)
        if known is not None and (known[0].operand is None or known[0].operand < old):
            return known
        mask = build_mask(old, found.steps, found.frame, self.name)
        mask = Mask(Band(None, 0), mask.operand) if found.causal else mask
        self._masks[key] = mask, mask.may_hide_all(found.frame)
        return self._masks[key]


class FuseScaledDotProductAttention(_Fusion):
    """scaled_dot_product_attention(q, k, v, mask)  ->  attention(q, k, v) {right = 0}"""  # noqa: D415

    name = "sdpa"
    anchors = (aten.scaled_dot_product_attention.default,)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        arguments = bound(node)
        q, k, v = (cast(fx.Node, arguments[name]) for name in ("query", "key", "value"))
        rank = typed(q).rank
        if arguments["dropout_p"] != 0.0:
            return No(f"dropout_p={arguments['dropout_p']} draws random numbers")
        if not 2 <= rank <= 4 or {typed(k).rank, typed(v).rank} != {rank}:
            return No(f"q, k and v are {typed(q)}, {typed(k)} and {typed(v)}; "
                      "they must have one rank of 2, 3 or 4")  # fmt: skip
        if 0 in (*typed(q).shape, *typed(k).shape):
            return None
        if arguments["enable_gqa"] and rank != 4:
            return No(f"grouped queries of rank {rank} have no head axis")
        groups = {typed(x).shape[1] for x in (k, v)} - {1} if rank == 4 else set()
        if len(groups) > 1:
            return No(f"keys have {typed(k).shape[1]} heads and values {typed(v).shape[1]}")
        steps: tuple[Step, ...] = ()
        mask = arguments["attn_mask"]
        if isinstance(mask, fx.Node):
            lead, boolean = typed(node).shape[:-2], typed(mask).dtype == DType.BOOL
            steps = (Fill(mask, True, NEVER, lead) if boolean else Add(mask, 1.0, lead),)
        scale = arguments["scale"]
        frame = _frame(typed(node), typed(k).shape[-2], None)
        return self._fuse(_Found(
            q, k, v, False, (), steps, frame,
            typed(q).shape[-1] ** -0.5 if scale is None else float(cast(float, scale)),
            bool(arguments["is_causal"]), "zero", node,
        ))  # fmt: skip


class FuseSoftmaxChain(_Fusion):
    """softmax(q @ k.T * scale + mask) @ v  ->  attention(q, k, v, mask) {scale}"""  # noqa: D415

    name = "softmax-attention"
    anchors: ClassVar = (aten.softmax.int, aten._softmax.default, aten._safe_softmax.default)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        weighted = weighted_values(node)
        scores = None if weighted is None else scores_of(source_of(node))
        if scores is None or weighted is None or 0 in typed(node).shape:
            return None
        for outcome in (weighted, scores):
            if isinstance(outcome, No):
                return outcome
        return self._checked(node, cast(Scores, scores), cast(Weighted, weighted))

    def _checked(self, softmax: fx.Node, scores: Scores, weighted: Weighted) -> fx.Node | No:
        axis, rank = cast(int, softmax.args[1]), typed(softmax).rank
        if axis % rank != rank - 1:
            return No(f"the softmax runs over axis {axis}, not over the keys")
        for node, below in zip(scores.path, (softmax, *scores.path), strict=False):
            other = next((user for user in node.users if user is not below), None)
            if other is not None:
                return No(f"the scores are used elsewhere, by {other.name}", node)
        v, product = weighted.values, weighted.product
        ranks = {typed(x).rank for x in (scores.left, v, product)}
        if len(ranks) != 1:
            return No(f"queries are {typed(scores.left)} and values {typed(v)}", product)
        dtype = typed(product).dtype
        for node in (*weighted.path, *scores.path):
            if not _at_least(typed(node).dtype, dtype):
                return No(f"the chain from {typed(scores.left)} to {typed(product)} rounds to "
                          f"{typed(node).dtype.value} on its way", node)  # fmt: skip
        q, right = scores.left, scores.right
        if typed(v).dtype != dtype or not (has_type(q, dtype) and has_type(right, dtype)):
            kinds = ", ".join(typed(x).dtype.value for x in (q, right, v))
            return No(f"queries, keys and values are {kinds}; one type is needed", product)
        fold = scores.fold or weighted.fold or _fold_of(q, v, product)
        if typed(product).rank == 3 and typed(product).shape[0] != typed(scores.path[-1]).shape[0]:
            return No(f"weights {typed(weighted.path[-1])} meet values {typed(v)}", product)
        bare_scores = typed(scores.path[-1])
        frame = _frame(bare_scores, typed(v).shape[-2], fold)
        leads = [typed(weighted.path[-1]).shape[:-2], *(step.lead for step in scores.steps)]
        if leads[0] != bare_scores.shape[:-2] or not all(frame.fits(lead) for lead in leads):
            return No(f"the scores {bare_scores} are regrouped on their way to {typed(product)}")
        empty_rows = "zero" if is_call(softmax, aten._safe_softmax) else "nan"
        return self._fuse(_Found(
            q, right, v, True, scores.factors, scores.steps, frame, scores.scale, False,
            empty_rows, product,
        ))  # fmt: skip


@graph_pass("fuse-attention")
class FuseAttention(RewritePass):
    """Attention in either form becomes one operator that knows its mask as a band where it can.

    Undoes the repetition of key and value heads, recovers untransposed keys, folds every scale.
    Scores and values of hidden keys are taken to be finite.
    """

    rewrites = (EinsumToMatmul, FuseScaledDotProductAttention, FuseSoftmaxChain)


def _frame(result: TensorType, keys: int, fold: tuple[int, int] | None) -> Frame:
    if result.rank == 4:
        batch, heads = result.shape[:2]
    elif result.rank == 3:
        batch, heads = fold or (result.shape[0], 1)
    else:
        batch, heads = 1, 1
    return Frame(batch, heads, result.shape[-2], keys)


def _fold_of(q: fx.Node, v: fx.Node, product: fx.Node) -> tuple[int, int] | None:
    """How heads are grouped in rank 3, from the views around the chain."""
    for view in (bare(q), bare(v), *product.users):
        if is_call(view, aten.view, aten.reshape, aten._unsafe_view):
            fold = fold_between(view)
            if fold is not None and typed(view).shape[-2:] == typed(source_of(view)).shape[-2:]:
                return fold
    return None


def _at_least(dtype: DType, other: DType) -> bool:
    """True if every value of `other` is one of `dtype`."""
    return torch.promote_types(to_torch(dtype), to_torch(other)) == to_torch(dtype)


def _lowered(old: fx.Node, fused: fx.Node, by: str) -> tuple[fx.Node, fx.Node]:
    """(node to replace, its replacement of the same shape)."""
    kind = typed(old)
    if kind.rank == 4:
        return old, fused
    only = next(iter(old.users)) if len(old.users) == 1 else None
    if kind.rank == 3 and only is not None and tensor_type(only) is not None:
        regroups = is_call(only, aten.view, aten.reshape, aten._unsafe_view)
        if regroups and typed(only).shape == typed(fused).shape:
            return only, fused
    if kind.rank == 3 and typed(fused).shape[1] == 1:
        return old, emit(old, aten.squeeze.dim, [fused, 1], by=by)
    return old, emit(old, aten.reshape.default, [fused, list(kind.shape)], by=by)


def _between(before: fx.Node, after: fx.Node) -> Sequence[fx.Node]:
    """The nodes that stand between two others."""
    nodes = []
    node = before.next
    while node is not after:
        nodes.append(node)
        node = node.next
    return nodes
