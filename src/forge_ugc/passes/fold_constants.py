"""Evaluation of what depends on constants alone, together with arithmetic that does nothing."""

from __future__ import annotations

import torch
from torch import fx

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.torch_types import to_torch
from forge_ugc.options import Options
from forge_ugc.passes.base import Fired, GraphPass, NearMiss, PassResult, graph_pass
from forge_ugc.passes.core.aliasing import Aliases, root
from forge_ugc.passes.core.evaluation import (
    LIVE_LIMIT_BYTES,
    EvaluationError,
    Plan,
    compact,
    evaluate,
    first_too_large,
    plan,
)
from forge_ugc.passes.core.identities import identity_operand, lossless_source
from forge_ugc.passes.graph import (
    add_constant,
    aten,
    constant_of,
    emit,
    inherit_source,
    location,
    tensor_type,
)
from forge_ugc.passes.replacing import erase_dead, replace


@graph_pass("fold-constants")
class FoldConstants(GraphPass):
    """Stores the value of every call that depends on constants alone, within a size limit.

    Views of constants become constants that share their memory. Never evaluated: states, random
    draws, effects, custom operators, tensors without data (meta). Calls that return an operand
    unchanged (x * 1, x.to(its dtype), dropout in eval, casts there and back) are replaced by it.
    """

    def run(self, graph_module: fx.GraphModule, options: Options) -> PassResult:
        graph = graph_module.graph
        aliases = Aliases(graph)
        fired = _drop_identities(list(graph.nodes), aliases)
        blocked: dict[fx.Node, str] = {}
        while True:
            made = plan(graph, aliases, options.fold_limit_bytes, blocked)
            too_large = first_too_large(made.order)
            if too_large is not None:
                blocked[too_large] = (
                    f"evaluating it holds more than {LIVE_LIMIT_BYTES} bytes at a time"
                )
                continue
            try:
                values = evaluate(made)
            except EvaluationError as error:
                blocked[error.node] = f"PyTorch refuses to run it: {error.reason}"
                continue
            break
        missed = [
            NearMiss(rule=self.name, node=node.name, reason=reason, location=location(node))
            for node, reason in made.refused.items()
        ]
        fired += self._store(made, values, aliases, options)
        return PassResult(changed=len(fired), details=tuple(fired), near_misses=tuple(missed))

    def _store(
        self,
        made: Plan,
        values: dict[fx.Node, torch.Tensor],
        aliases: Aliases,
        options: Options,
    ) -> list[Fired]:
        fired = []
        stored = []
        for node in made.stored:
            constant = self._constant(node, values[node], options)
            stored.append(constant)
            by = constant
            if aliases.is_visible(node) and root(node) is node:
                by = emit(node, aten.clone.default, (constant,), by=self.name)
                aliases.moved(node, by)
            what = f"{node.name} ({node.target}) is {tensor_type(constant)}"
            fired.append(Fired(rule=self.name, node=by.name, what=what, location=location(node)))
            replace(node, by)
        erase_dead(reversed(made.constant))
        users = [user for constant in stored for user in constant.users]
        return fired + _drop_identities(users, aliases)

    def _constant(self, node: fx.Node, value: torch.Tensor, options: Options) -> fx.Node:
        """The node that reads the value: the constant it equals, or a new one."""
        owner = root(node)
        if owner.op == "get_attr":
            whole = constant_of(owner)
            if whole is not None and _is_same_view(whole, value):
                return owner
            shared = value
        else:
            shared = compact(value)
        constant = add_constant(node, f"folded_{node.name}", shared.detach())
        constant.meta["origin"] = self.name
        small = shared.untyped_storage().nbytes() <= options.fold_limit_bytes
        constant.meta["folded"] = owner.op != "get_attr" and small
        inherit_source(constant, node)
        return constant


def _is_same_view(a: torch.Tensor, b: torch.Tensor) -> bool:
    return (
        a.data_ptr() == b.data_ptr()
        and a.dtype == b.dtype
        and a.shape == b.shape
        and a.stride() == b.stride()
        and a.is_conj() == b.is_conj()
        and a.is_neg() == b.is_neg()
    )


def _drop_identities(nodes: list[fx.Node], aliases: Aliases) -> list[Fired]:
    fired: list[Fired] = []
    for node in nodes:
        if node.op != "call_function" or node._erased or not node.users:
            continue
        by = _simpler(node, aliases)
        if by is not None:
            what = f"{node.name} ({node.target}) is {by.name}"
            fired.append(Fired(rule="identity", node=by.name, what=what, location=location(node)))
            replace(node, by)
    return fired


def _simpler(node: fx.Node, aliases: Aliases) -> fx.Node | None:
    operand = identity_operand(node)
    if operand is not None:
        return operand if aliases.merge(node, operand) else None
    source, kind = lossless_source(node), tensor_type(node)
    if source is None or kind is None:
        return None
    if tensor_type(source) == kind:
        return source if aliases.merge(node, source) else None
    return _cast(node, source, kind, aliases)


def _cast(node: fx.Node, source: fx.Node, kind: TensorType, aliases: Aliases) -> fx.Node:
    by = emit(node, aten.to.dtype, (source, to_torch(kind.dtype)), by="identity")
    aliases.moved(node, by)
    return by
