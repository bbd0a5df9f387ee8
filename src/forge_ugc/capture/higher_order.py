"""Inlining of torch's higher-order operators: grad and autocast regions, and `cond`."""

from __future__ import annotations

import operator
from typing import Any, cast

import torch
from torch import fx

from forge_ugc.capture.guarding import guard
from forge_ugc.capture.source_lines import source_line
from forge_ugc.errors import CaptureError
from forge_ugc.ops.core.schema import has_effect, is_random


def inline_higher_order(graph_module: fx.GraphModule) -> None:
    """Replace every higher-order call in place.

    A `set_grad_enabled` region is inlined, since programs never record gradients. An autocast
    region that is switched off is inlined too. `cond` runs both branches and selects with `where`:
    dataflow targets have no branches, and pure branches give the same values.

    Raises:
        CaptureError: a region that cannot be expressed as plain dataflow.
    """
    changed = True
    while changed:
        changed = False
        for node in list(graph_module.graph.nodes):
            if node.op == "call_function" and isinstance(
                node.target, torch._ops.HigherOrderOperator
            ):
                _inline(graph_module, node)
                changed = True
    graph_module.graph.eliminate_dead_code(is_impure_node=lambda n: n.op != "get_attr")


def _inline(graph_module: fx.GraphModule, node: fx.Node) -> None:
    name = node.target.name()  # type: ignore[union-attr]
    if name == "wrap_with_set_grad_enabled":
        _, body, *operands = node.args
        _replace(node, _copy(graph_module, node, cast(fx.Node, body), operands))
    elif name == "wrap_with_autocast":
        _, _, enabled, _, body, *operands = node.args
        if enabled:
            raise CaptureError(
                "the model switches autocast on inside its forward",
                where=_line(graph_module, node),
                why="the precision of a region would be decided while the program runs",
                fix="convert the module with .to(dtype), or compile it without the autocast block",
            )
        _replace(node, _copy(graph_module, node, cast(fx.Node, body), operands))
    elif name == "cond":
        _inline_cond(graph_module, node)
    elif name.startswith("auto_functionalized"):
        raise CaptureError(
            f"the custom operator {node.args[0]} writes to its arguments (mutation)",
            where=_line(graph_module, node),
            why="programs are functional, and its results without the write are not known",
            fix="register an operator that returns new tensors, and copy them where they belong",
        )
    else:
        raise CaptureError(
            f"the higher-order operator {name} has no dataflow form",
            where=_line(graph_module, node),
            fix="unroll the loop in Python, or call the model through torch.compile("
            "backend='forge_ugc')",
        )


def _line(graph_module: fx.GraphModule, node: fx.Node) -> str:
    """The source line of a region: its own, or the first one inside, since torch drops some."""
    bodies = [getattr(graph_module, str(arg.target)) for arg in node.all_input_nodes
              if arg.op == "get_attr"]  # fmt: skip
    inner = [n for body in bodies if isinstance(body, fx.GraphModule) for n in body.graph.nodes]
    return next(filter(None, map(source_line, [node, *inner])), "")


def _inline_cond(graph_module: fx.GraphModule, node: fx.Node) -> None:
    predicate, if_true, if_false, operands = cast(tuple[fx.Node, ...], node.args)
    inputs = list(cast(Any, operands))
    branches = []
    for branch, when in ((if_true, True), (if_false, False)):
        inline_higher_order(cast(fx.GraphModule, getattr(graph_module, str(branch.target))))
        _require_pure(graph_module, branch)
        last = node.prev
        branches.append(_copy(graph_module, node, branch, inputs))
        if isinstance(predicate, fx.Node):
            guard(_after(last, node), predicate, when)
    taken, other = branches
    chosen: list[Any] = []
    with node.graph.inserting_before(node):
        for a, b in zip(taken, other, strict=True):
            if a is None and b is None:
                chosen.append(None)
                continue
            pick = node.graph.call_function(torch.ops.aten.where.self, (predicate, a, b))
            pick.meta = dict(a.meta)
            chosen.append(pick)
    _replace(node, chosen)


def _after(first: fx.Node, last: fx.Node) -> list[fx.Node]:
    """The nodes that stand between two others."""
    nodes = []
    node = first.next
    while node is not last:
        nodes.append(node)
        node = node.next
    return nodes


def _require_pure(graph_module: fx.GraphModule, branch: fx.Node) -> None:
    body = cast(fx.GraphModule, getattr(graph_module, str(branch.target)))
    for inner in body.graph.nodes:
        target = inner.target
        if isinstance(target, torch._ops.OpOverload) and (
            is_random(target, inner.args, inner.kwargs)
            or (has_effect(target) and target is not torch.ops.aten._assert_tensor_metadata.default)
        ):
            raise CaptureError(
                f"a branch of torch.cond calls {target}, which is random or has an effect",
                why="both branches of a cond run, and the result is selected",
                fix="move the operator out of the branch",
            )


def _copy(
    graph_module: fx.GraphModule, before: fx.Node, body: fx.Node, operands: list[Any]
) -> list[Any]:
    """Copy the body's nodes before `before`; returns its outputs as a list."""
    inner = cast(fx.GraphModule, getattr(graph_module, str(body.target)))
    placeholders = [n for n in inner.graph.nodes if n.op == "placeholder"]
    mapping: dict[fx.Node, Any] = dict(zip(placeholders, operands, strict=True))
    outputs: Any = ()
    with before.graph.inserting_before(before):
        for node in inner.graph.nodes:
            if node.op == "get_attr":
                name = f"{body.target}_{node.target}".replace(".", "_")
                setattr(graph_module, name, getattr(inner, str(node.target)))
                mapping[node] = before.graph.create_node("get_attr", name)
                mapping[node].meta = dict(node.meta)
            elif node.op == "output":
                outputs = fx.node.map_arg(node.args[0], lambda n: mapping[n])
            elif node.op != "placeholder":
                mapping[node] = before.graph.node_copy(node, lambda n: mapping[n])
    return list(outputs) if isinstance(outputs, tuple | list) else [outputs]


def _replace(node: fx.Node, outputs: list[Any]) -> None:
    for user in list(node.users):
        if user.op == "call_function" and user.target is operator.getitem:
            user.replace_all_uses_with(outputs[cast(int, user.args[1])])
            node.graph.erase_node(user)
    if node.users:
        node.replace_all_uses_with(outputs[0])
    node.graph.erase_node(node)
