"""Putting one node in another's place: the users' types follow, and what became dead goes."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable
from typing import cast

from torch import fx
from torch._ops import OpOverload

from forge_ugc.errors import VerificationError
from forge_ugc.ops.core.schema import has_effect, is_random
from forge_ugc.passes.graph import NodeType, aten, infer_call, is_call, is_state, node_type


def replace(old: fx.Node, new: fx.Node) -> None:
    """Let every user of `old` read `new`, and erase `old` with all that only it needed.

    The two hold the same elements but may lie in memory differently: the types of the users, and
    of theirs as far as it shows, are inferred anew. A `view` that the new layout does not allow
    becomes a `reshape`.
    """
    moved = node_type(old) != node_type(new)
    old.replace_all_uses_with(new)
    if moved:
        retype(new.users)
    erase_dead([old])


def retype(nodes: Iterable[fx.Node]) -> None:
    """Infer the types of these calls anew, and of their users as long as types change."""
    queue = deque(nodes)
    while queue:
        node = queue.popleft()
        if node.op != "call_function":
            continue
        kind = _infer(node)
        if kind != node_type(node):
            node.meta["type"] = kind
            queue.extend(node.users)


def _infer(node: fx.Node) -> NodeType:
    if not isinstance(node.target, OpOverload):  # operator.getitem
        source, index = node.args
        results = cast(tuple[NodeType, ...], node_type(cast(fx.Node, source)))
        return results[cast(int, index)]
    try:
        return infer_call(node.target, node.args, node.kwargs)
    except VerificationError:
        if not is_call(node, aten.view, aten._unsafe_view):
            raise
        node.target = aten.reshape.default
        return infer_call(node.target, node.args, node.kwargs)


def erase_dead(nodes: Iterable[fx.Node]) -> None:
    """Erase those of the nodes that nothing reads, then what only they read, and so on upwards.

    Inputs, states, and calls that write or draw random numbers stay.
    """
    queue = list(nodes)
    while queue:
        node = queue.pop()
        if node._erased or node.users or not is_pure(node):
            continue
        sources = node.all_input_nodes
        node.graph.erase_node(node)
        queue.extend(sources)


def is_pure(node: fx.Node) -> bool:
    """True if a node matters through its results alone: no effect, no random draw, no inner graph.

    A random draw counts as an effect, since the draws after it would yield other numbers without
    it. States are kept: a store may write them although nothing reads them.
    """
    if node.op == "get_attr":
        return not is_state(node)
    if node.op != "call_function":
        return False
    if not isinstance(node.target, OpOverload):
        return node.target is operator.getitem
    return not (has_effect(node.target) or is_random(node.target, node.args, node.kwargs))
