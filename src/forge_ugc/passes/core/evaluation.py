"""Which calls depend on constants alone, and their values."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import fx
from torch._ops import OpOverload

from forge_ugc.npuir.types import TensorType
from forge_ugc.passes.core.aliasing import Aliases, root
from forge_ugc.passes.core.arguments import is_uninitialized, operator_name
from forge_ugc.passes.graph import constant_of, node_type, tensor_type
from forge_ugc.passes.replacing import is_pure

LIVE_LIMIT_BYTES = 1 << 30
"""Memory that intermediate values of one evaluation may take at a time."""

_NAMESPACES = frozenset({"aten", "prims", "forge"})


@dataclass(slots=True)
class Plan:
    """What to evaluate: `stored` values the graph reads, `order` all calls needed for them."""

    constant: dict[fx.Node, None]
    stored: list[fx.Node] = field(default_factory=list)
    order: list[fx.Node] = field(default_factory=list)
    refused: dict[fx.Node, str] = field(default_factory=dict)


def plan(graph: fx.Graph, aliases: Aliases, limit_bytes: int, blocked: dict[fx.Node, str]) -> Plan:
    """Choose the values to store: those that something not constant reads.

    A value is kept as a call if it is larger than `limit_bytes` and also larger than the constants
    that nothing else reads; its operands are then needed, and are looked at in turn.

    Args:
        blocked: calls that cannot be evaluated, with the reason; what depends on them stays.
    """
    made = Plan(_constant_calls(graph, blocked))
    made.refused.update(blocked)
    kept: set[fx.Node] = set()
    for node in reversed(made.constant):
        if all(user in made.constant and user not in kept for user in node.users):
            continue
        reason = _unstorable(node, aliases)
        if reason is None and (size := stored_bytes(node)) > limit_bytes:
            freed = _freed_bytes(node, made.constant)
            if size > freed:
                reason = (
                    f"its value takes {size} bytes, the limit is {limit_bytes} and the constants "
                    f"it would replace take {freed}"
                )
        if reason is None:
            made.stored.append(node)
        else:
            kept.add(node)
            if reason:
                made.refused[node] = reason
    made.stored.reverse()
    needed = _cone(made.stored, made.constant)
    made.order = [node for node in made.constant if node in needed]
    return made


def first_too_large(order: list[fx.Node]) -> fx.Node | None:
    """The call at which the live intermediate values exceed the limit; None if they never do."""
    last: dict[fx.Node, int] = {}
    members = set(order)
    for position, node in enumerate(order):
        for operand in (node, *node.all_input_nodes):
            last[root(operand)] = position
    ends: dict[int, list[fx.Node]] = {}
    for owner, position in last.items():
        ends.setdefault(position, []).append(owner)
    live = 0
    for position, node in enumerate(order):
        live += _own_bytes(node)
        if live > LIVE_LIMIT_BYTES:
            return node
        live -= sum(_own_bytes(o) for o in ends.get(position, ()) if o in members)
    return None


class EvaluationError(Exception):
    """A call that PyTorch refuses to run on its constant operands."""

    def __init__(self, node: fx.Node, reason: str) -> None:
        super().__init__(reason)
        self.node, self.reason = node, reason


def evaluate(made: Plan) -> dict[fx.Node, torch.Tensor]:
    """Values of the stored calls, by the operators that the graph itself would run.

    Raises:
        EvaluationError: an operator refused its operands, as it would at run time.
    """
    uses: dict[fx.Node, int] = {}
    for node in made.order:
        for operand in node.all_input_nodes:
            uses[operand] = uses.get(operand, 0) + 1
    stored = set(made.stored)
    values: dict[fx.Node, Any] = {}
    kept: dict[fx.Node, torch.Tensor] = {}

    def value_of(operand: fx.Node) -> Any:  # noqa: ANN401 - a tensor or a list of them
        return constant_of(operand) if operand.op == "get_attr" else values[operand]

    for node in made.order:
        args = fx.node.map_arg(node.args, value_of)
        kwargs = fx.node.map_arg(node.kwargs, value_of)
        try:
            with torch.no_grad():
                values[node] = cast(Any, node.target)(*cast(Any, args), **cast(Any, kwargs))
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
            raise EvaluationError(node, str(error).splitlines()[0]) from error
        if node in stored:
            kept[node] = values[node]
        for operand in node.all_input_nodes:
            uses[operand] -= 1
            if not uses[operand]:
                values.pop(operand, None)
        if not uses.get(node):
            values.pop(node, None)
    return kept


def stored_bytes(node: fx.Node) -> int:
    """New memory that the node's value takes as a constant; a view of a constant takes none."""
    kind = tensor_type(node)
    return 0 if kind is None or root(node).op == "get_attr" else kind.size_bytes


def compact(tensor: torch.Tensor) -> torch.Tensor:
    """The same tensor, strides included, in storage no longer than its elements span."""
    if tensor.numel() == 0:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    last = sum((d - 1) * s for d, s in zip(tensor.shape, tensor.stride(), strict=True))
    if tensor.untyped_storage().nbytes() == (last + 1) * tensor.itemsize:
        return tensor
    return tensor.as_strided((last + 1,), (1,)).clone().as_strided(tensor.shape, tensor.stride())


def _constant_calls(graph: fx.Graph, blocked: Iterable[fx.Node]) -> dict[fx.Node, None]:
    found: dict[fx.Node, None] = {}
    leaves: set[fx.Node] = set()
    stops = set(blocked)
    for node in graph.nodes:
        if node.op == "get_attr":
            tensor = constant_of(node)
            if tensor is not None and tensor.device.type == "cpu":
                leaves.add(node)
        elif node.op == "call_function" and node not in stops:
            operands = node.all_input_nodes
            if all(o in leaves or o in found for o in operands) and _is_evaluable(node):
                found[node] = None
    return found


def _is_evaluable(node: fx.Node) -> bool:
    target = node.target
    if isinstance(target, OpOverload) and target.namespace not in _NAMESPACES:
        return False
    kind = node_type(node)
    if not isinstance(kind, TensorType | tuple) or not is_pure(node):
        return False
    given = (*node.args, *node.kwargs.values())
    return not any(isinstance(v, torch.device) and v.type != "cpu" for v in given)


def _unstorable(node: fx.Node, aliases: Aliases) -> str | None:
    """Why a constant value has to stay a call: empty if that is not worth telling, None if not so.

    A result that the caller may write to is made afresh in every call: its memory may be copied
    from a constant, and views of that memory stay views of the copy.
    """
    kind = tensor_type(node)
    if kind is None or is_uninitialized(node):
        return ""
    owner = root(node)
    if owner.op == "get_attr" or not aliases.is_visible(node):
        return None
    if owner is not node or not node.all_input_nodes or not kind.is_dense:
        return ""
    copies = operator_name(node) == "clone" and node.all_input_nodes[0].op == "get_attr"
    return "" if copies else None


def _cone(ends: Iterable[fx.Node], within: dict[fx.Node, None]) -> set[fx.Node]:
    seen: set[fx.Node] = set()
    queue = list(ends)
    while queue:
        node = queue.pop()
        if node in within and node not in seen:
            seen.add(node)
            queue.extend(node.all_input_nodes)
    return seen


def _freed_bytes(node: fx.Node, within: dict[fx.Node, None]) -> int:
    """Bytes of the constants that nothing reads any more once `node` is stored."""
    cone = _cone([node], within)
    dying = {node}
    for member in reversed(within):
        if member in cone and all(user in dying for user in member.users):
            dying.add(member)
    leaves = {o for member in dying for o in member.all_input_nodes if o.op == "get_attr"}
    total, seen = 0, set[int]()
    for leaf in leaves:
        tensor = constant_of(leaf)
        if tensor is None or not all(user in dying for user in leaf.users):
            continue
        storage = tensor.untyped_storage()
        if storage._cdata not in seen:
            seen.add(storage._cdata)
            total += storage.nbytes()
    return total


def _own_bytes(node: fx.Node) -> int:
    """Bytes of memory that a call allocates; none for views and constants."""
    if node.op != "call_function" or root(node) is not node or node.target is operator.getitem:
        return 0
    kind = node_type(node)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return sum(k.size_bytes for k in kinds if isinstance(k, TensorType))
