"""Assertions on numbers that a model reads from tensors, kept as tensor operators."""

from __future__ import annotations

import operator
from typing import Any, cast

import torch
from torch import fx

aten = torch.ops.aten

# By Python operator: the overload for a tensor on the right, and the one for a number.
_OPERATORS: dict[object, tuple[Any, Any]] = {
    operator.le: (aten.le.Tensor, aten.le.Scalar),
    operator.lt: (aten.lt.Tensor, aten.lt.Scalar),
    operator.ge: (aten.ge.Tensor, aten.ge.Scalar),
    operator.gt: (aten.gt.Tensor, aten.gt.Scalar),
    operator.eq: (aten.eq.Tensor, aten.eq.Scalar),
    operator.ne: (aten.ne.Tensor, aten.ne.Scalar),
    operator.add: (aten.add.Tensor, aten.add.Scalar),
    operator.sub: (aten.sub.Tensor, aten.sub.Scalar),
    operator.mul: (aten.mul.Tensor, aten.mul.Scalar),
    operator.and_: (aten.logical_and.default, None),
    operator.or_: (aten.logical_or.default, None),
}
# The same relation with the operands the other way round, for a number on the left.
_TURNED: dict[object, object] = {
    operator.le: operator.ge, operator.lt: operator.gt, operator.ge: operator.le,
    operator.gt: operator.lt, operator.eq: operator.eq, operator.ne: operator.ne,
    operator.add: operator.add, operator.mul: operator.mul,
}  # fmt: skip
_RANGES = frozenset({"sym_constrain_range", "sym_constrain_range_for_size"})
_DTYPES = {torch.SymInt: torch.int64, torch.SymFloat: torch.float64, torch.SymBool: torch.bool}


def tensorize_assertions(graph_module: fx.GraphModule) -> None:
    """Rewrite `assert x.max().item() <= 8` so that no Python number is left, in place.

    torch.export makes it `_assert_scalar(item <= 8)`; here it becomes
    `_assert_async(x.max() <= 8)`, which raises a RuntimeError when the program runs. Numbers with
    another use are left as they are. Linear in the number of nodes.
    """
    graph = graph_module.graph
    tensors: dict[fx.Node, fx.Node] = {}
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        name = getattr(node.target, "_opname", "")
        if name == "item":
            tensors[node] = _scalar(graph, node)
        elif name == "_assert_scalar" and node.args[0] in tensors:
            with graph.inserting_before(node):
                kept = graph.call_function(
                    aten._assert_async.msg, (tensors[cast(fx.Node, node.args[0])], _message(node))
                )
            kept.meta = {k: v for k, v in node.meta.items() if k != "val"}
            graph.erase_node(node)
        elif name in _RANGES:
            graph.erase_node(node)
        elif node.target in _OPERATORS and _translatable(node, tensors):
            tensors[node] = _translate(graph, node, tensors)
    for node in reversed(list(graph.nodes)):
        if node in tensors and not node.users:
            graph.erase_node(node)
    for tensor in reversed(list(tensors.values())):
        if not tensor._erased and not tensor.users and tensor.op == "call_function":
            graph.erase_node(tensor)


def _scalar(graph: fx.Graph, node: fx.Node) -> fx.Node:
    source = cast(fx.Node, node.args[0])
    value = cast(torch.Tensor, source.meta["val"])
    with graph.inserting_before(node):
        view = graph.call_function(aten.view.default, (source, []))
    view.meta = {**node.meta, "val": torch.empty((), dtype=value.dtype, device="meta")}
    return view


def _translatable(node: fx.Node, tensors: dict[fx.Node, fx.Node]) -> bool:
    left, right = node.args
    if left in tensors and right in tensors:
        return True
    number, function = (right, node.target) if left in tensors else (left, _TURNED.get(node.target))
    known = left in tensors or right in tensors
    by_number = _OPERATORS.get(function, (None, None))[1]
    return known and isinstance(number, int | float) and by_number is not None


def _translate(graph: fx.Graph, node: fx.Node, tensors: dict[fx.Node, fx.Node]) -> fx.Node:
    left, right = cast(tuple[fx.Node, Any], node.args)
    function: object = node.target
    if left not in tensors:
        left, right, function = cast(fx.Node, right), left, _TURNED[function]
    by_tensor, by_number = _OPERATORS[function]
    target = by_tensor if right in tensors else by_number
    with graph.inserting_before(node):
        made = graph.call_function(target, (tensors[left], tensors.get(right, right)))
    dtype = _DTYPES.get(type(node.meta.get("val")), torch.bool)
    made.meta = {**node.meta, "val": torch.empty((), dtype=dtype, device="meta")}
    return made


def _message(node: fx.Node) -> str:
    lines = (node.meta.get("stack_trace") or "").strip().splitlines()
    said = lines[-1].strip() if lines else str(node.args[1])
    return f"an assertion of the model does not hold: {said}"
