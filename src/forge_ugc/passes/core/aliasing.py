"""Which values of a graph share memory in a way that the caller could see."""

from __future__ import annotations

import operator
from typing import cast

import torch
from torch import fx

from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.schema import is_view
from forge_ugc.passes.core.arguments import argument, first_tensor, operator_name, overload_called
from forge_ugc.passes.core.views import view_strides
from forge_ugc.passes.graph import tensor_type

_RESHAPES = frozenset({
    "reshape", "flatten", "unflatten", "ravel", "_reshape_alias", "reshape_as", "_unsafe_view",
})  # fmt: skip
_CASTS = frozenset({"to", "type_as", "float", "cpu", "pin_memory", "contiguous", "sum_to_size"})
_DROPOUTS = frozenset({"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"})
# PyTorch returns the operand or a view of it, although the schema does not say so.
_UNTOLD = frozenset({
    "lift", "lift_fresh", "positive", "real", "resolve_conj", "resolve_neg", "matrix_H",
    "conj_physical", "atleast_1d", "atleast_2d", "atleast_3d", "unsafe_split", "unsafe_chunk",
    "unsafe_split_with_sizes",
})  # fmt: skip
_UNTOLD_LISTS = frozenset({"meshgrid", "broadcast_tensors", "einsum", "cartesian_prod"})


def is_off_dropout(node: fx.Node) -> bool:
    """True if the node is a dropout that returns its input itself."""
    if operator_name(node) not in _DROPOUTS:
        return False
    return argument(node, "train") is False or argument(node, "p") == 0


def memory_of(node: fx.Node) -> fx.Node | None:
    """The operand whose memory the node's result shows; None if it has memory of its own.

    Follows what PyTorch does, not only what schemas say: `reshape` of a contiguous tensor,
    `to` of the dtype it has and dropout that is switched off all return their operand's memory.
    """
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        return _memory_of_item(cast(fx.Node, node.args[0]), node.args[1])
    overload = overload_called(node)
    if overload is None:
        return None
    base, name = first_tensor(node), operator_name(node)
    if is_view(overload):
        return base
    if name in _UNTOLD_LISTS:
        return _only(argument(node, "tensors"))
    kind, mine = tensor_type(base), tensor_type(node)
    if name in _RESHAPES and kind is not None and mine is not None:
        return base if view_strides(kind, mine.shape) is not None else None
    if name in _CASTS:
        return base if kind == mine and argument(node, "copy") is not True else None
    if name == "conj_physical" and (kind is None or kind.dtype in {DType.C64, DType.C128}):
        return None
    if name in _UNTOLD or is_off_dropout(node):
        return base
    return None


def _memory_of_item(source: fx.Node, index: object) -> fx.Node | None:
    if operator_name(source) in {"meshgrid", "broadcast_tensors"}:
        tensors = argument(source, "tensors")
        return cast("list[fx.Node]", tensors)[cast(int, index)]
    return source if memory_of(source) is not None else None


def _only(tensors: object) -> fx.Node | None:
    items = list(cast("list[fx.Node]", tensors))
    return items[0] if len(items) == 1 else None


def root(node: fx.Node) -> fx.Node:
    """The node that owns the memory: an input, a constant, a state or a computed value."""
    while (base := memory_of(node)) is not None:
        node = base
    return node


class Aliases:
    """The memory that leaves the graph, for passes that make one value of two.

    A caller may write to a result. Two results that eager returns in separate memory must
    therefore stay separate, and so must a result and an input, a constant or a state.
    """

    def __init__(self, graph: fx.Graph) -> None:
        self._seen: dict[object, int] = {}
        for value in graph.output_node().all_input_nodes:
            key = _key(root(value))
            self._seen[key] = self._seen.get(key, 0) + 1

    def is_visible(self, node: fx.Node) -> bool:
        """True if a graph output shows the node's memory."""
        return _key(root(node)) in self._seen

    def merge(self, node: fx.Node, into: fx.Node) -> bool:
        """True if `into` may replace `node` without a caller seeing it; then records that it does.

        Both hold equal values. Memory that already is one, as eager has it, may stay one.
        """
        mine, other = root(node), root(into)
        old, new = _key(mine), _key(other)
        if old == new or old not in self._seen:
            return True
        if new in self._seen or other.op in {"placeholder", "get_attr"}:
            return False
        self._seen[new] = self._seen.pop(old)
        return True

    def show(self, node: fx.Node) -> None:
        """Record that a graph output will show the memory of this new node."""
        self._seen[node] = self._seen.get(node, 0) + 1

    def moved(self, node: fx.Node, to: fx.Node) -> None:
        """Record that `to`, a new node with memory of its own, stands for `node` from now on."""
        if node in self._seen:
            self._seen[to] = self._seen.pop(node)


def _key(owner: fx.Node) -> object:
    """Constants are one memory by storage, everything else by node."""
    if owner.op == "get_attr":
        module = cast(fx.GraphModule, owner.graph.owning_module)
        value = getattr(module, str(owner.target), None)
        if isinstance(value, torch.Tensor):
            return value.untyped_storage()._cdata
    return owner
