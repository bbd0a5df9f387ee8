"""Layer normalisation written by hand."""

from __future__ import annotations

from typing import cast

from torch import fx

from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, is_call, tensor_type
from forge_ugc.passes.operators import norm_root
from forge_ugc.passes.operators.matching import (
    WIDE,
    argument,
    last_axis,
    operands,
    other,
    sole_user,
    substitute,
    with_scalar,
)


class LayerNormChain(Rewrite):
    """(x - mean(x)) / sqrt(var(x) + eps) * w + b  ->  aten.layer_norm(x, [D], w, b, eps).

    The variance is that of the population: a mean of squares, or `var` with correction 0. Weight
    and bias join if they are [D] and of x's dtype.
    """

    name = "layer-norm"
    tier = 0.4
    anchors = (*norm_root.ANCHORS, aten.std.correction, aten.std.dim)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        if is_call(node, aten.std):
            return _deviation(node)
        root = norm_root.find_root(node)
        x = _centred(root.x) if isinstance(root, norm_root.Root) else None
        if x is None or not isinstance(root, norm_root.Root):
            return None
        if isinstance(x, No):
            return x
        of = _variance(root.moment)
        if isinstance(of, No) or of is None:
            return of
        if of is not x:
            return No(f"{x.name} is divided by the deviation of {of.name}", root.scaled)
        kind = tensor_type(x)
        if kind is None or kind.dtype not in WIDE:
            return No(f"the chain computes in {kind}, where every step rounds", x)
        scaled = tensor_type(root.scaled)
        if scaled is None or (scaled.dtype, scaled.shape) != (kind.dtype, kind.shape):
            return No(f"the normalised value is {scaled}, the input {kind}", x)
        last, weight = _vector(root.scaled, aten.mul.Tensor)
        bias: fx.Node | None = None
        if weight is not None:
            last, bias = _vector(last, aten.add.Tensor)
        args = (x, [kind.shape[-1]], weight, bias, root.eps)
        packed = kind.contiguous()
        return substitute(last, aten.layer_norm.default, args, kind=packed, by=self.name)


def _centred(node: fx.Node) -> fx.Node | No | None:
    """The x of x - mean(x, -1, keepdim)."""
    pair = operands(node, aten.sub)
    if pair is None or not is_call(pair[1], aten.mean):
        return None
    of = norm_root.mean_of(pair[1])
    if isinstance(of, No):
        return of
    return of if of is pair[0] else None


def _variance(node: fx.Node) -> fx.Node | No | None:
    """The x of the population variance over the last axis."""
    if is_call(node, aten.var):
        return _var_call(node)
    squared = norm_root.mean_of(node)
    if not isinstance(squared, fx.Node):
        return squared
    base = norm_root.square_of(squared)
    return _centred(base) if base is not None else None


def _var_call(node: fx.Node) -> fx.Node | No | None:
    x = cast(fx.Node, node.args[0])
    kind = tensor_type(x)
    if node.target is aten.var.dim:
        correction = int(bool(argument(node, 2, "unbiased", True)))
        keepdim = argument(node, 3, "keepdim", False)
    elif node.target is aten.var.correction:
        given = node.kwargs.get("correction")
        correction = 1 if given is None else cast(int, given)
        keepdim = node.kwargs.get("keepdim", False)
    else:
        return None
    if kind is None or not last_axis(argument(node, 1, "dim"), kind.rank) or keepdim is not True:
        return No("the variance is not that of the last axis, kept", node)
    if correction != 0:
        return No(f"the variance divides by n - {correction}, layer_norm by n", node)
    return x


def _vector(value: fx.Node, target: object) -> tuple[fx.Node, fx.Node | None]:
    """The only reader of `value` and its other operand [D]; `value` itself and None otherwise."""
    user = sole_user(value)
    vector = other(user, value, target)  # type: ignore[arg-type]
    kind, factor = tensor_type(value), tensor_type(vector)
    if user is None or kind is None or factor is None:
        return value, None
    if factor.shape != kind.shape[-1:] or factor.dtype is not kind.dtype:
        return value, None
    return user, cast(fx.Node, vector)


def _deviation(node: fx.Node) -> No | None:
    user = sole_user(node)
    last = sole_user(user) if user is not None and with_scalar(user, aten.add) else user
    pair = operands(last, aten.div)
    if pair is None or not isinstance(pair[0], fx.Node) or _centred(pair[0]) is None:
        return None
    return No("it divides by a standard deviation: eps, if any, is added to the root", node)
