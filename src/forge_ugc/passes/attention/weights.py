"""Follows the attention weights from the softmax down to their product with the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from torch import fx

from forge_ugc.passes.attention.peeling import (
    called,
    float_cast,
    fold_between,
    keeps_last_two,
    same_values,
)  # fmt: skip
from forge_ugc.passes.base import No
from forge_ugc.passes.graph import aten, is_call, tensor_type

_LONGEST = 12  # operators between softmax and product; the longest seen in a model is three


@dataclass(frozen=True, slots=True)
class Weighted:
    """weights @ values: the product, and the nodes between the softmax and it."""

    product: fx.Node
    values: fx.Node
    path: tuple[fx.Node, ...]
    fold: tuple[int, int] | None


def weighted_values(softmax: fx.Node) -> Weighted | No | None:
    """Follow the result of a softmax down to its product with the values.

    None if no product is near: this softmax is no attention.
    """
    node, path, elsewhere = softmax, [softmax], None
    fold: tuple[int, int] | None = None
    while len(path) < _LONGEST:
        users = list(node.users)
        onward = next((u for u in users if _passes_on(u, node) or _multiplies(u, node)), None)
        if onward is None:
            return _altered(users)
        elsewhere = elsewhere or next((u for u in users if u is not onward), None)
        if _multiplies(onward, node):
            if elsewhere is not None:
                return No(f"the attention weights are used elsewhere, by {elsewhere.name}", softmax)
            return Weighted(onward, cast(fx.Node, onward.args[1]), tuple(path), fold)
        fold = fold or (fold_between(onward) if keeps_last_two(onward) else None)
        path.append(onward)
        node = onward
    return None


def _passes_on(user: fx.Node, node: fx.Node) -> bool:
    passing = same_values(user) or float_cast(user) or keeps_last_two(user)
    return passing and user.args[0] is node


def _multiplies(user: fx.Node, node: fx.Node) -> bool:
    return is_call(user, aten.matmul, aten.bmm) and user.args[0] is node


def _altered(users: Sequence[fx.Node]) -> No | None:
    """A near miss if one operator stands between the weights and the values."""
    for user in users:
        if user.op != "call_function" or tensor_type(user) is None:
            continue
        for after in user.users:
            while _passes_on(after, user) and len(after.users) == 1:
                user, after = after, next(iter(after.users))
            if _multiplies(after, user):
                name = called(next(u for u in users if u.op == "call_function"))
                return No(f"the attention weights pass through {name} before they meet the values")
    return None
