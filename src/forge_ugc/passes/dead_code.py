"""Removal of what no result depends on."""

from __future__ import annotations

from torch import fx

from forge_ugc.options import Options
from forge_ugc.passes.base import Fired, GraphPass, PassResult, graph_pass
from forge_ugc.passes.core.cleanup import drop_unused_attributes
from forge_ugc.passes.graph import location
from forge_ugc.passes.replacing import is_pure


@graph_pass("dead-code")
class DeadCode(GraphPass):
    """Drops pure calls and constants that nothing reads; inputs, states and effects stay.

    A random draw stays as well, since the draws after it would yield other numbers without it.
    """

    def run(self, graph_module: fx.GraphModule, options: Options) -> PassResult:
        graph = graph_module.graph
        fired: list[Fired] = []
        for node in reversed(graph.nodes):
            if node.users or not is_pure(node):
                continue
            fired.append(
                Fired(
                    rule=self.name,
                    node=node.name,
                    what=f"nothing reads {node.target}",
                    location=location(node),
                )
            )
            graph.erase_node(node)
        drop_unused_attributes(graph_module)
        return PassResult(changed=len(fired), details=tuple(fired))
