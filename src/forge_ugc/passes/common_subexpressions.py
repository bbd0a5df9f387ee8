"""Merging of calls that compute one value twice."""

from __future__ import annotations

from typing import cast

import torch
import xxhash
from torch import fx
from torch._ops import OpOverload

from forge_ugc.ops.core.schema import parameters
from forge_ugc.options import Options
from forge_ugc.passes.base import Fired, GraphPass, NearMiss, PassResult, graph_pass
from forge_ugc.passes.core.aliasing import Aliases
from forge_ugc.passes.core.arguments import hashable, is_uninitialized
from forge_ugc.passes.graph import constant_of, is_state, location
from forge_ugc.passes.replacing import is_pure


@graph_pass("common-subexpressions")
class CommonSubexpressions(GraphPass):
    """Merges equal pure calls, reads of one constant, and computed constants of equal content.

    Two calls are equal if operator, all arguments (numbers with their Python type and sign of zero)
    and result types are. Two values that the caller gets as separate memory stay separate.
    """

    def run(self, graph_module: fx.GraphModule, options: Options) -> PassResult:
        aliases = Aliases(graph_module.graph)
        first: dict[object, list[fx.Node]] = {}
        fired: list[Fired] = []
        missed: list[NearMiss] = []
        for node in list(graph_module.graph.nodes):
            key = _key(node)
            if key is None:
                continue
            known = first.setdefault(key, [])
            same = next((k for k in known if aliases.merge(node, k)), None)
            if same is not None:
                what = f"{node.name} computes what {same.name} holds"
                fired.append(
                    Fired(rule=self.name, node=same.name, what=what, location=location(node))
                )
                node.replace_all_uses_with(same)
                graph_module.graph.erase_node(node)
                continue
            if known:
                reason = (
                    f"equal to {known[0].name}, but both are results that a caller may write to"
                )
                missed.append(
                    NearMiss(rule=self.name, node=node.name, reason=reason, location=location(node))
                )
            known.append(node)
        return PassResult(changed=len(fired), details=tuple(fired), near_misses=tuple(missed))


def _key(node: fx.Node) -> object:
    """Equal for calls that give equal values; None for what must not be merged."""
    if node.op == "get_attr":
        return _constant_key(node)
    if node.op != "call_function" or not is_pure(node):
        return None
    target = node.target
    if not isinstance(target, OpOverload):
        return (target, _value(node.args), _value(tuple(node.kwargs.items())))
    if is_uninitialized(node):
        return None
    given = tuple(
        _value(node.args[i] if i < len(node.args) else node.kwargs.get(name, default))
        for i, (name, _, default, _) in enumerate(parameters(target))
    )
    return (target, given, node.meta.get("type"))


def _constant_key(node: fx.Node) -> object:
    if is_state(node):
        return ("state", node.target)
    tensor = constant_of(node)
    if tensor is None:
        return None
    if node.meta.get("folded"):
        return ("folded", node.meta.get("type"), _checksum(node, tensor))
    place = (tensor.untyped_storage()._cdata, tensor.storage_offset())
    return (place, tensor.dtype, tensor.shape, tensor.stride(), tensor.is_conj(), tensor.is_neg())


def _value(value: object) -> object:
    return hashable(value, lambda node: node)


def _checksum(node: fx.Node, tensor: torch.Tensor) -> str:
    """128 bits of the content, computed once; only small computed constants come here."""
    if "checksum" not in node.meta:
        flat = tensor.contiguous().reshape(-1).view(torch.uint8)
        node.meta["checksum"] = xxhash.xxh3_128_hexdigest(flat.numpy().tobytes())
    return cast(str, node.meta["checksum"])
