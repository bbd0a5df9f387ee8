"""The text form of an FX graph: one node a line with its type, under names that do not drift."""

from __future__ import annotations

import operator
from collections.abc import Mapping

import torch
from torch import fx
from torch._ops import OpOverload

from forge_ugc.ops.core.schema import opcode_of
from forge_ugc.passes.graph import is_state, node_type


def operator_of(node: fx.Node) -> str:
    """What a call's operator is called in texts and counts: `aten.add.Tensor`, `linear`."""
    if isinstance(node.target, OpOverload):
        return opcode_of(node.target)
    if node.target is operator.getitem:
        return "getitem"
    return str(getattr(node.target, "__name__", node.target))


def format_graph(graph_module: fx.GraphModule) -> str:
    """The graph as text. Calls are numbered, inputs and constants keep their names.

    input  %x : f32[2,3]
    const  @w : f32[4,3]
    %0 = aten.linear.default(%x, @w) : f32[2,4]
    output %0
    """
    names: dict[fx.Node, str] = {}
    lines: list[str] = []
    count = 0
    for node in graph_module.graph.nodes:
        names[node] = shown_name(node, count)
        count += node.op == "call_function"
        lines.append(node_text(node, names))
    return "\n".join(lines) + "\n"


def shown_name(node: fx.Node, call: int | str) -> str:
    """What a node is called in texts: `%x` for inputs, `@w`, `$cache`; a call by what is given."""
    if node.op == "get_attr":
        return f"{'$' if is_state(node) else '@'}{node.target}"
    return f"%{node.target if node.op == 'placeholder' else call}"


def node_text(node: fx.Node, names: Mapping[fx.Node, str]) -> str:
    """One node's line; `names` has the node and everything that it reads."""
    if node.op == "placeholder":
        return f"input  {names[node]} : {_type(node)}"
    if node.op == "get_attr":
        return f"{'state ' if is_state(node) else 'const '} {names[node]} : {_type(node)}"
    if node.op == "output":
        values = node.args[0]
        flat = values if isinstance(values, list | tuple) else [values]
        return "output " + ", ".join(_value(v, names) for v in flat)
    given = [_value(v, names) for v in node.args]
    given += [f"{k}={_value(v, names)}" for k, v in node.kwargs.items()]
    return f"{names[node]} = {operator_of(node)}({', '.join(given)}) : {_type(node)}"


def _type(node: fx.Node) -> str:
    kind = node_type(node)
    return f"({', '.join(map(str, kind))})" if isinstance(kind, tuple) else str(kind)


def _value(value: object, names: Mapping[fx.Node, str]) -> str:
    if isinstance(value, fx.Node):
        return names[value]
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item, names) for item in value) + "]"
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.device):
        return str(value)
    return repr(value)
