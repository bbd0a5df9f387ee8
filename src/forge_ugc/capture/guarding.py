"""Keeps a branch of `cond` that is not taken from raising: harmless divisors and indices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import torch
from torch import fx
from torch._ops import OpOverload

from forge_ugc.ops.core.schema import parameters

_DIVISIONS = {"div", "floor_divide", "remainder", "fmod", "__floordiv__", "__mod__"}
_INDICES = {"index", "indices"}


def guard(nodes: Iterable[fx.Node], predicate: fx.Node, taken: bool) -> None:
    """Where `predicate` is not `taken`, divide integers by one and index with zero.

    Both branches run, and the result is selected. PyTorch raises on integer division by zero and on
    an index out of range, and the condition may be what excludes them.
    """
    for node in nodes:
        if isinstance(node.target, OpOverload):
            _guard(node, node.target, predicate, taken)


def _guard(node: fx.Node, target: OpOverload, predicate: fx.Node, taken: bool) -> None:
    name = target._opname
    value = node.meta.get("val")
    whole = isinstance(value, torch.Tensor) and not value.is_floating_point()
    divides = name in _DIVISIONS and whole
    args, kwargs = list(node.args), dict(node.kwargs)
    for position, (parameter, _, _, _) in enumerate(parameters(target)):
        if divides and parameter == "other":
            harmless = 1
        elif parameter in _INDICES or (name == "one_hot" and position == 0):
            harmless = 0
        else:
            continue
        if position < len(args):
            args[position] = _chosen(args[position], harmless, node, predicate, taken)
        elif parameter in kwargs:
            kwargs[parameter] = _chosen(kwargs[parameter], harmless, node, predicate, taken)
    node.args, node.kwargs = tuple(args), kwargs


def _chosen(value: Any, harmless: int, node: fx.Node, predicate: fx.Node, taken: bool) -> Any:  # noqa: ANN401 - call arguments
    if isinstance(value, list | tuple):
        return [_chosen(item, harmless, node, predicate, taken) for item in value]
    tensor = value.meta.get("val") if isinstance(value, fx.Node) else None
    if not isinstance(tensor, torch.Tensor) or tensor.dtype == torch.bool:
        return value
    where = torch.ops.aten.where
    target, args = (
        (where.ScalarOther, (predicate, value, harmless)) if taken
        else (where.ScalarSelf, (predicate, harmless, value))
    )  # fmt: skip
    with node.graph.inserting_before(node):
        made = node.graph.call_function(target, args)
    made.meta = dict(cast(fx.Node, value).meta)
    return made
