"""Placement of constants and of everything the graph creates on the cpu."""

from __future__ import annotations

import torch
from torch import fx

from forge_ugc.ops.core.torch_types import to_torch
from forge_ugc.options import Options
from forge_ugc.passes.base import Fired, GraphPass, PassResult, graph_pass
from forge_ugc.passes.core.aliasing import Aliases
from forge_ugc.passes.core.arguments import (
    argument,
    bound,
    first_tensor,
    operator_name,
    overload_called,
)
from forge_ugc.passes.graph import aten, constant_of, emit, location, tensor_type
from forge_ugc.passes.replacing import replace

CPU = torch.device("cpu")
_COPIES = frozenset({"to", "cpu", "cuda", "pin_memory"})


@graph_pass("device-constants")
class DeviceConstants(GraphPass):
    """Makes the graph independent of the device it was captured on.

    Device arguments become `cpu`, pinned memory ordinary memory, constants move to the cpu (meta
    tensors have no data and stay), and device copies vanish or become the cast they contain.
    """

    def run(self, graph_module: fx.GraphModule, options: Options) -> PassResult:
        aliases = Aliases(graph_module.graph)
        fired: list[Fired] = []

        def note(rule: str, node: fx.Node, what: str) -> None:
            fired.append(Fired(rule=rule, node=node.name, what=what, location=location(node)))

        for node in list(graph_module.graph.nodes):
            if node.op == "get_attr":
                if (placed := _place(graph_module, node)) is not None:
                    note("constant", node, f"{node.target} moved from {placed} to cpu")
            elif overload_called(node) is not None:
                if (old := _to_cpu(node)) is not None:
                    note("device-argument", node, f"{node.target} on {old} now on cpu")
                if operator_name(node) in _COPIES and (by := _without_device(node, aliases)):
                    note("device-copy", by, f"{node.name}: {node.target} -> {by.name}")
                    if by is not first_tensor(node):
                        aliases.moved(node, by)
                    replace(node, by)
        return PassResult(changed=len(fired), details=tuple(fired))


def _place(graph_module: fx.GraphModule, node: fx.Node) -> torch.device | None:
    tensor = constant_of(node)
    if tensor is None:
        tensor = getattr(graph_module, str(node.target), None) if node.meta.get("state") else None
    if tensor is None or tensor.device.type in {"cpu", "meta"}:
        return None
    setattr(graph_module, str(node.target), tensor.detach().to(CPU))
    return tensor.device


def _to_cpu(node: fx.Node) -> str | None:
    """Rewrite device and pinning arguments in place; the old device if there was another one."""
    old = None
    args, kwargs = list(node.args), dict(node.kwargs)
    for position, value in enumerate(args):
        if isinstance(value, torch.device) and value.type != "cpu":
            old, args[position] = str(value), CPU
    for name, value in list(kwargs.items()):
        if isinstance(value, torch.device) and value.type != "cpu":
            old, kwargs[name] = str(value), CPU
        elif name == "pin_memory" and value is True:
            old, kwargs[name] = "pinned memory", False
    if old is not None:
        node.args, node.kwargs = tuple(args), kwargs
    return old


def _without_device(node: fx.Node, aliases: Aliases) -> fx.Node | None:
    """What a copy to the cpu comes to: its operand, a cast or a clone; None if it has no device."""
    overload = overload_called(node)
    source, kind, old = first_tensor(node), tensor_type(node), tensor_type(first_tensor(node))
    if overload is None or source is None or kind is None or old is None:
        return None
    if overload is aten.to.dtype:
        return None
    named = bound(node)
    layout, memory_format = named.get("layout"), named.get("memory_format")
    if layout not in (None, torch.strided) or memory_format not in (None, torch.preserve_format):
        return None
    if kind.dtype == old.dtype:
        if argument(node, "copy") is not True:
            return source
        if aliases.merge(node, source):
            return source
        return emit(node, aten.clone.default, (source,), by=DeviceConstants.name)
    return emit(node, aten.to.dtype, (source, to_torch(kind.dtype)), by=DeviceConstants.name)
