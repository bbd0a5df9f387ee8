"""Brings queries, keys and values to [batch, heads, length, size], and undoes repeated heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import fx

from forge_ugc.npuir.types import DType
from forge_ugc.passes.attention.peeling import bare, same_values, source_of, typed, upcast
from forge_ugc.passes.attention.steps import Frame
from forge_ugc.passes.graph import aten, constant_of, emit, is_call

_MERGES = (aten.view, aten.reshape, aten._unsafe_view, aten._reshape_alias, aten.flatten)


def keys_of(transposed: fx.Node, anchor: fx.Node, by: str) -> fx.Node:
    """The keys [..., S, D] behind [..., D, S]: their source, or a view that turns them back."""
    node = bare(transposed)
    order = permutation(node)
    if order is None:
        return emit(anchor, aten.transpose.int, [node, -2, -1], by=by)
    order = [*order[:-2], order[-1], order[-2]]
    if order == list(range(len(order))):
        return bare(source_of(node))
    return emit(anchor, aten.permute.default, [source_of(node), order], by=by)


def permutation(node: fx.Node) -> list[int] | None:
    """Which source axis each axis of a transposition comes from."""
    rank = typed(node).rank if is_call(node, *_TURNS) else 0
    if is_call(node, aten.permute):
        return [axis % rank for axis in cast(Sequence[int], node.args[1])]
    if rank == 0:
        return None
    order = list(range(rank))
    if is_call(node, aten.transpose, aten.swapaxes, aten.swapdims):
        first, second = (cast(int, axis) % rank for axis in node.args[1:3])
    elif is_call(node, aten.t, aten.numpy_T) and rank != 2:
        return order if rank < 2 else order[::-1]
    else:
        first, second = rank - 2, rank - 1
    order[first], order[second] = order[second], order[first]
    return order


_TURNS = (aten.permute, aten.transpose, aten.swapaxes, aten.swapdims, aten.t, aten.numpy_T, aten.mT,
          aten.adjoint)  # fmt: skip


def has_type(node: fx.Node, dtype: DType) -> bool:
    """True if the node is of this type, or casts up from it, transpositions left aside."""
    while typed(node).dtype != dtype:
        if not (upcast(node) or same_values(node) or permutation(node) is not None):
            return False
        node = source_of(node)
    return True


def in_type(node: fx.Node, dtype: DType, anchor: fx.Node, by: str) -> fx.Node:
    """The node before its casts, transposed alike. `has_type` must hold."""
    if typed(node).dtype == dtype:
        return node
    source = in_type(source_of(node), dtype, anchor, by)
    order = permutation(node)
    return source if order is None else emit(anchor, aten.permute.default, [source, order], by=by)


def lift(node: fx.Node, frame: Frame, anchor: fx.Node, by: str) -> fx.Node:
    """A query, key or value of rank 2 to 4 as rank 4."""
    node = bare(node)
    kind = typed(node)
    if kind.rank == 4:
        return node
    if kind.rank == 2:
        row = emit(anchor, aten.unsqueeze.default, [node, 0], by=by)
        return emit(anchor, aten.unsqueeze.default, [row, 0], by=by)
    if frame.heads == 1:
        return emit(anchor, aten.unsqueeze.default, [node, 1], by=by)
    wide = (frame.batch, frame.heads, *kind.shape[1:])
    if is_call(node, *_MERGES) and typed(source_of(node)).shape == wide:
        return bare(source_of(node))
    return emit(anchor, aten.view.default, [node, list(wide)], by=by)


def share_heads(
    q: fx.Node, k: fx.Node, v: fx.Node, anchor: fx.Node, by: str
) -> tuple[fx.Node, fx.Node, fx.Node]:
    """q, k and v of rank 4 with one batch size, keys and values in as few heads as they have."""
    heads = typed(q).shape[1]
    grouped = [ungrouped(x, anchor, by) for x in (k, v)]
    groups = {typed(x).shape[1] for x in grouped if typed(x).shape[1] != 1}
    if len(groups) <= 1 and all(heads % g == 0 for g in groups):
        k, v = grouped
    most = max(typed(k).shape[1], typed(v).shape[1])
    batch = max(typed(x).shape[0] for x in (q, k, v))
    q = _expanded(q, batch, max(heads, most) if heads == 1 else heads, anchor, by)
    k, v = (_expanded(x, batch, most, anchor, by) for x in (k, v))
    return q, k, v


def _expanded(node: fx.Node, batch: int, heads: int, anchor: fx.Node, by: str) -> fx.Node:
    shape = typed(node).shape
    if shape[:2] == (batch, heads):
        return node
    return emit(anchor, aten.expand.default, [node, [batch, heads, *shape[2:]]], by=by)


def ungrouped(node: fx.Node, anchor: fx.Node, by: str) -> fx.Node:
    """[B, G, S, D] behind [B, G*n, S, D] in which every head stands n times in a row, or `node`."""
    turned, axis, turns = node, 1, []
    while True:
        order = permutation(turned)
        if order is not None and len(order) == 4:
            turns.append(order)
            axis, turned = order[axis], source_of(turned)
        elif bare(turned) is not turned:
            turned = bare(turned)
        else:
            break
    source = _unrepeated(turned, axis, anchor, by)
    if source is None:
        return node
    for order in reversed(turns):
        source = emit(anchor, aten.permute.default, [source, order], by=by)
    return source


def _unrepeated(node: fx.Node, axis: int, anchor: fx.Node, by: str) -> fx.Node | None:
    """The tensor whose slices along `axis` the node repeats, each n times in a row."""
    if is_call(node, aten.repeat_interleave) and _interleaves(node, axis):
        return bare(source_of(node))
    if is_call(node, aten.index_select, aten.index) and _indexes(node, axis):
        return bare(source_of(node))
    if is_call(node, aten.expand, aten.repeat):  # repeats in a row only what is a single slice
        source = source_of(node)
        shape = list(typed(node).shape)
        shape[axis] = 1
        return bare(source) if list(typed(source).shape) == shape else None
    if is_call(node, *_MERGES):
        return _unmerged(node, axis, anchor, by)
    return None


def _unmerged(node: fx.Node, axis: int, anchor: fx.Node, by: str) -> fx.Node | None:
    """x[:, :, None].expand(B, G, n, S, D).reshape(B, G*n, S, D): n is the inner axis."""
    wide = bare(source_of(node))
    while is_call(wide, *_MERGES) and typed(wide).rank != 5:
        wide = bare(source_of(wide))
    if not is_call(wide, aten.expand, aten.repeat):
        return None
    shape, narrow = list(typed(wide).shape), source_of(wide)
    if len(shape) != 5 or typed(narrow).rank != 5:
        return None
    merged = [*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]]
    single = [*shape[: axis + 1], 1, *shape[axis + 2 :]]
    if list(typed(node).shape) != merged or list(typed(narrow).shape) != single:
        return None
    inner = bare(narrow)
    if is_call(inner, aten.unsqueeze) and cast(int, inner.args[1]) % 5 == axis + 1:
        return bare(source_of(inner))
    return emit(anchor, aten.squeeze.dim, [inner, axis + 1], by=by)


def _interleaves(node: fx.Node, axis: int) -> bool:
    """repeat_interleave(x, n, axis) with a number n."""
    arguments = dict(zip(("self", "repeats", "dim"), node.args, strict=False)) | node.kwargs
    along = arguments.get("dim")
    single = isinstance(arguments.get("repeats"), int)
    return single and isinstance(along, int) and along % typed(node).rank == axis


def _indexes(node: fx.Node, axis: int) -> bool:
    """x.index_select(axis, [0, 0, 1, 1, ...]) with constant indices."""
    index: object
    if is_call(node, aten.index_select):
        along, index = node.args[1:3]
        fits = cast(int, along) % typed(node).rank == axis
    else:
        indices = cast(Sequence[object], node.args[1])
        fits = len(indices) == axis + 1 and all(i is None for i in indices[:-1])
        index = indices[-1]
    values = constant_of(index)
    if not fits or values is None or values.dim() != 1 or values.dtype == torch.bool:
        return False
    groups, count = typed(source_of(node)).shape[axis], values.numel()
    if groups == 0 or count % groups:
        return False
    return torch.equal(values.long(), torch.arange(groups).repeat_interleave(count // groups))
