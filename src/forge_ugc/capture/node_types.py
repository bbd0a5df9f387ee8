"""Types of a captured graph's nodes, in the place of the fake tensors of torch.export."""

from __future__ import annotations

import torch
from torch import fx

from forge_ugc.capture.source_lines import source_line
from forge_ugc.errors import CaptureError
from forge_ugc.ops.core.torch_types import type_of

_CHECK = torch.ops.aten._assert_tensor_metadata.default


def type_nodes(graph_module: fx.GraphModule) -> None:
    """Record `meta["type"]` everywhere, drop fake tensors and metadata assertions, in place.

    Raises:
        CaptureError: a size, or a Python number, depends on values of a tensor.
    """
    graph = graph_module.graph
    # Copies of a block share their fake tensors. The tensor is held, so that its id stays its own.
    known: dict[int, tuple[object, object]] = {}
    for node in list(graph.nodes):
        if node.target is _CHECK:
            graph.erase_node(node)
            continue
        value = node.meta.pop("val", None)
        if id(value) not in known:
            known[id(value)] = (value, _typed(value, node))
        node.meta["type"] = known[id(value)][1]
    graph.lint()


def _typed(value: object, node: fx.Node) -> object:
    if isinstance(value, torch.Tensor):
        if any(isinstance(s, torch.SymInt) for s in value.shape):
            raise CaptureError(
                f"the size of a result of {node.target} depends on values (data-dependent shape)",
                where=source_line(node),
                fix="keep the full size and mask instead: torch.where in place of x[mask]",
            )
        return type_of(value)
    if isinstance(value, list | tuple):
        return tuple(_typed(item, node) for item in value)
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        raise CaptureError(
            f"{node.target} turns a tensor into a Python number (data-dependent)",
            where=source_line(node),
            fix="keep it a tensor: drop .item(), .tolist() and int(tensor)",
        )
    return None
