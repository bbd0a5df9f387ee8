"""A graph as data, so that it can be shown after passes have changed it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import fx

from forge_ugc.npuir.instruction import SourceLocation
from forge_ugc.passes.graph import is_state, location
from forge_ugc.passes.text import node_text, operator_of, shown_name


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLine:
    """One node.

    Attributes:
        name: unique in the graph; a node keeps it through all passes, and no other takes it over.
        operator: of a call; else `input`, `const`, `state` or `output`.
        text: the node's line, with nodes under their names.
        operands: names of the nodes that it reads, in order.
        rule: the pass or rewrite that made it; empty for nodes as captured.
        location: module path and source line.
    """

    name: str
    operator: str
    text: str
    operands: tuple[str, ...]
    rule: str
    location: SourceLocation


Snapshot = tuple[GraphLine, ...]
"""The lines of a graph in its order."""


def take_snapshot(graph_module: fx.GraphModule) -> Snapshot:
    """The graph as it is now. Linear in its size."""
    names = {node: shown_name(node, node.name) for node in graph_module.graph.nodes}
    return tuple(
        GraphLine(
            name=node.name,
            operator=_kind(node),
            text=node_text(node, names),
            operands=tuple(operand.name for operand in node.all_input_nodes),
            rule=str(node.meta.get("origin", "")),
            location=location(node),
        )
        for node in graph_module.graph.nodes
    )


def _kind(node: fx.Node) -> str:
    if node.op == "get_attr":
        return "state" if is_state(node) else "const"
    return {"placeholder": "input", "output": "output"}.get(node.op) or operator_of(node)
