"""Comparison of two captured graphs up to the names of their nodes."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx


def graph_difference(got: fx.GraphModule, want: fx.GraphModule) -> str | None:
    """Where two captured graphs first differ; None if they are equal up to names.

    Equal means: the same operators in the same order, with the same arguments, types and modules;
    the same parameters and buffers by name; literals of equal content. Linear in the nodes.
    """
    one, other = _described(got), _described(want)
    for (node, row), (_, wanted) in zip(one, other, strict=False):
        if row != wanted:
            return f"{node.name} is {row}, expected {wanted}"
    if len(one) != len(other):
        return f"{len(one)} nodes, expected {len(other)}"
    return None


def _described(graph_module: fx.GraphModule) -> list[tuple[fx.Node, tuple[object, ...]]]:
    names: dict[fx.Node, object] = {}
    rows: list[tuple[fx.Node, tuple[object, ...]]] = []
    for node in graph_module.graph.nodes:
        if node.op == "get_attr":
            names[node] = _constant(graph_module, node)
            continue
        names[node] = f"%{len(rows)}"
        args = _argument(node.args, names), _argument(node.kwargs, names)
        what = str(node.target) if node.op == "call_function" else node.op
        rows.append((node, (what, *args, node.meta.get("type"), _module_of(node))))
    return rows


def _module_of(node: fx.Node) -> str:
    stack = node.meta.get("nn_module_stack")
    return next(reversed(stack.values()))[0] if stack else ""


def _constant(graph_module: fx.GraphModule, node: fx.Node) -> object:
    if node.meta.get("module_owned"):
        return ("weight", node.meta["fqn"])
    value = getattr(graph_module, str(node.target))
    content = value.tolist() if isinstance(value, torch.Tensor) else value
    return ("literal", str(value.dtype), repr(content))


def _argument(value: Any, names: dict[fx.Node, object]) -> object:  # noqa: ANN401 - any argument
    if isinstance(value, fx.Node):
        return names[value]
    if isinstance(value, list | tuple):
        return tuple(_argument(item, names) for item in value)
    if isinstance(value, dict):
        return tuple((key, _argument(item, names)) for key, item in value.items())
    return (type(value).__name__, repr(value))
