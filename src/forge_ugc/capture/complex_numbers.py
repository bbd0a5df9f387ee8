"""Complex Python numbers as constants: NPUIR has literals for real ones only."""

from __future__ import annotations

import torch
from torch import fx
from torch._ops import OpOverload

from forge_ugc.ops.core.schema import parameters


def tensorize_complex(graph_module: fx.GraphModule) -> None:
    """Make `x * 1j` a product with a constant, in place. Linear in the number of nodes.

    Its dtype is the result's, so that it promotes as the number did. Operators that take a number
    and nothing else (`full(size, 1j)`) are left as they are.
    """
    for node in list(graph_module.graph.nodes):
        if not isinstance(node.target, OpOverload):
            continue
        for index, (_, kind, _, _) in enumerate(parameters(node.target)[: len(node.args)]):
            value = node.args[index]
            if isinstance(value, complex) and kind == "Tensor":
                node.update_arg(index, _constant(graph_module, node, value))


def _constant(graph_module: fx.GraphModule, node: fx.Node, value: complex) -> fx.Node:
    result = node.meta.get("val")
    tensor = torch.tensor(value, dtype=torch.complex64)
    if isinstance(result, torch.Tensor) and result.is_complex():
        tensor = torch.tensor(value, dtype=result.dtype)
    name = f"complex_{node.name}"
    setattr(graph_module, name, tensor)
    with node.graph.inserting_before(node):
        read = node.graph.create_node("get_attr", name)
    read.meta = {"val": torch.empty_like(tensor, device="meta"), "fqn": name}
    return read
