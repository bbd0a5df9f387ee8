"""Buffers that share memory, under several names or as views of one another, as one buffer."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec

from forge_ugc.ops.core.torch_types import type_of


def merge_buffers(exported: ExportedProgram) -> None:
    """Express buffers of one memory as views of the one that holds it all, in place.

    A write to one is then seen through the others, and torch.export can retrace the program, which
    fails on writes to one of several. Buffers of which none holds the others are left alone.
    """
    groups: defaultdict[int, list[InputSpec]] = defaultdict(list)
    tensors = exported.state_dict
    for spec in exported.graph_signature.input_specs:
        tensor = tensors.get(str(spec.target))
        if spec.kind is InputKind.BUFFER and tensor is not None and tensor.numel() > 0:
            groups[tensor.untyped_storage()._cdata].append(spec)
    for specs in groups.values():
        owner = max(specs, key=lambda s: tensors[str(s.target)].numel())
        for spec in specs:
            if spec is not owner and _holds(tensors[str(owner.target)], tensors[str(spec.target)]):
                _replace(exported, spec, owner)
    exported.graph_module.recompile()


def _holds(owner: torch.Tensor, part: torch.Tensor) -> bool:
    """True if every element of `part` is one of `owner`'s, which lies densely in memory."""
    first = (part.data_ptr() - owner.data_ptr()) // owner.element_size()
    last = first + type_of(part).size_bytes // owner.element_size()
    dense = type_of(owner).size_bytes == owner.numel() * owner.element_size()
    return dense and owner.dtype == part.dtype and first >= 0 and last <= owner.numel()


def _replace(exported: ExportedProgram, spec: InputSpec, owner: InputSpec) -> None:
    nodes = exported.graph.find_nodes(op="placeholder")
    by_name: dict[str, fx.Node] = {n.name: n for n in nodes}
    node, source = by_name[spec.arg.name], by_name[owner.arg.name]
    part = exported.state_dict[str(spec.target)]
    whole = exported.state_dict[str(owner.target)]
    view = source
    if type_of(part) != type_of(whole):
        offset = (part.data_ptr() - whole.data_ptr()) // whole.element_size()
        with exported.graph.inserting_after(nodes[-1]):
            view = exported.graph.call_function(
                torch.ops.aten.as_strided.default,
                (source, list(part.shape), list(part.stride()), offset),
            )
        view.meta = dict(node.meta)
    node.replace_all_uses_with(view)
    exported.graph.erase_node(node)
    exported.graph_signature.input_specs.remove(spec)
    del exported.state_dict[str(spec.target)]
