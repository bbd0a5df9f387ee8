"""Reading the reciprocal root that RMSNorm and LayerNorm written by hand have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from torch import fx

from forge_ugc.passes.base import No
from forge_ugc.passes.graph import aten, is_call, tensor_type
from forge_ugc.passes.operators.matching import (
    argument,
    cast_source,
    last_axis,
    operands,
    other,
    scalar,
    sole_user,
    with_scalar,
)

ANCHORS = (aten.rsqrt.default, aten.sqrt.default, aten.pow.Tensor_Scalar)


@dataclass(frozen=True, slots=True)
class Root:
    """scaled = x / sqrt(moment + eps), whichever way the division is written."""

    x: fx.Node
    moment: fx.Node
    eps: float
    scaled: fx.Node


def find_root(node: fx.Node) -> Root | No | None:
    """Read the chain around a root; None if it scales nothing, `No` if eps stands outside."""
    exponent = scalar(node.args[1]) if is_call(node, aten.pow) else None
    inverse = is_call(node, aten.rsqrt) or exponent == -0.5
    if not inverse and not is_call(node, aten.sqrt) and exponent != 0.5:
        return None
    under = node.args[0]
    added = with_scalar(under, aten.add)
    moment, eps = added if added is not None else (under, 0.0)
    if not isinstance(moment, fx.Node):
        return None
    root, user = node, sole_user(node)
    if not inverse and user is not None and is_call(user, aten.reciprocal):
        root, user, inverse = user, sole_user(user), True
    if user is None:
        return None
    if not inverse and with_scalar(user, aten.add) is not None and _is_mean(moment) is True:
        return No("eps is added to the root, not under it", user)
    if inverse:
        x = other(user, root, aten.mul)
    else:
        pair = operands(user, aten.div)
        x = pair[0] if pair is not None and pair[1] is root else None
    if not isinstance(x, fx.Node) or x is root:
        return None
    return Root(x, moment, eps, user)


def mean_of(node: object) -> fx.Node | No | None:
    """What a mean over the last axis that keeps it is taken of; `No` for a mean of another kind."""
    if not is_call(node, aten.mean):
        return None
    mean = cast(fx.Node, node)
    source = cast(fx.Node, mean.args[0])
    kind = tensor_type(source)
    dims = argument(mean, 1, "dim")
    if kind is None or not last_axis(dims, kind.rank):
        return No(f"the mean runs over axes {dims}, the norm over the last one alone", mean)
    if argument(mean, 2, "keepdim", False) is not True:
        return No("the mean drops the last axis, so it broadcasts along another", mean)
    result = tensor_type(mean)
    if result is None or result.dtype != kind.dtype:
        return No("the mean changes the dtype", mean)
    return source


def _is_mean(node: object) -> bool:
    return isinstance(mean_of(node), fx.Node)


def square_of(node: object) -> fx.Node | None:
    """The x of x ** 2, x * x or square(x)."""
    if is_call(node, aten.square):
        return cast(fx.Node, cast(fx.Node, node).args[0])
    if is_call(node, aten.pow.Tensor_Scalar) and scalar(cast(fx.Node, node).args[1]) == 2:
        return cast(fx.Node, cast(fx.Node, node).args[0])
    pair = operands(node, aten.mul.Tensor)
    same = pair is not None and pair[0] is pair[1]
    return cast(fx.Node, pair[0]) if same and pair is not None else None


def same_value(a: fx.Node, b: fx.Node) -> bool:
    """True if both are one node, or one is the other behind a cast (T5 scales the uncast input)."""
    return a is b or cast_source(a) is b or cast_source(b) is a
