"""Removal of constants that nothing reads."""

from __future__ import annotations

import torch
from torch import fx


def drop_unused_attributes(graph_module: fx.GraphModule) -> int:
    """Delete the root module's tensors that no node reads; returns how many.

    States always have a node that reads them, since no pass erases it.
    """
    read = {str(node.target) for node in graph_module.graph.find_nodes(op="get_attr")}
    stores: list[dict[str, object]] = [
        {**graph_module._parameters},
        {**graph_module._buffers},
        vars(graph_module),
    ]
    tensors = [
        name
        for store in stores
        for name, value in store.items()
        if isinstance(value, torch.Tensor) and name not in read
    ]
    for name in tensors:
        delattr(graph_module, name)
    return len(tensors)
