"""Arguments of a call by name, as the operator's schema defines them."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from torch import fx
from torch._ops import OpOverload

from forge_ugc.ops.core.schema import parameters

_UNINITIALIZED = frozenset({
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided",
})  # fmt: skip


def overload_called(node: fx.Node) -> OpOverload | None:
    """The PyTorch operator that a node calls; None for inputs, constants and `getitem`."""
    return node.target if isinstance(node.target, OpOverload) else None


def operator_name(node: fx.Node) -> str:
    """`add` for `aten.add.Tensor`; empty for anything but an ATen call."""
    target = node.target
    return target._opname if isinstance(target, OpOverload) and target.namespace == "aten" else ""


def is_uninitialized(node: fx.Node) -> bool:
    """True for a call whose result is memory as it was found: two such results are never equal."""
    return operator_name(node) in _UNINITIALIZED


def bound(node: fx.Node) -> dict[str, object]:
    """Every argument of an operator call by its schema name, defaults filled in."""
    args, kwargs = node.args, node.kwargs
    return {
        name: args[position] if position < len(args) else kwargs.get(name, default)
        for position, (name, _, default, _) in enumerate(parameters(cast(OpOverload, node.target)))
    }


def argument(node: fx.Node, name: str) -> object:
    """One argument of an operator call; None if the operator has no such parameter."""
    for position, (known, _, default, _) in enumerate(parameters(cast(OpOverload, node.target))):
        if known == name:
            return (
                node.args[position] if position < len(node.args) else node.kwargs.get(name, default)
            )
    return None


def first_tensor(node: fx.Node) -> fx.Node | None:
    """The operator's first argument if it is a node."""
    first = node.args[0] if node.args else next(iter(node.kwargs.values()), None)
    return first if isinstance(first, fx.Node) else None


def hashable(value: object, stand_in: Callable[[fx.Node], object]) -> object:
    """Arguments as a key: nodes by `stand_in`, numbers with their type, -0.0 apart from 0.0."""
    kind = type(value)
    if kind is fx.Node:
        return stand_in(cast(fx.Node, value))
    if kind is str or value is None:
        return value
    if kind is float:
        return (float, cast(float, value).hex())
    if isinstance(value, list | tuple):
        return (list, *[hashable(item, stand_in) for item in value])
    if isinstance(value, complex):
        return (complex, value.real.hex(), value.imag.hex())
    if isinstance(value, slice):
        return (slice, hashable((value.start, value.stop, value.step), stand_in))
    return (kind, value)
