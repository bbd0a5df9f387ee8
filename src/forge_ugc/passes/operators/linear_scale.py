"""A number right behind a linear layer is multiplied with it."""

from __future__ import annotations

import math

import torch
from torch import fx

from forge_ugc.ops.linear import Linear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, is_call
from forge_ugc.passes.operators.linear_call import linear_call
from forge_ugc.passes.operators.matching import fuse, operands, scalar, with_scalar


class LinearScale(Rewrite):
    """mul(act(linear(x, w, b)), c)  ->  linear(x, w, b) {activation = act, scale = c}.

    A division joins as the multiplication by 1 / c where that is exact, as for powers of two.
    """

    name = "linear-scale"
    tier = 0.2
    anchors = (aten.mul.Tensor, aten.div.Tensor)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        divides = is_call(node, aten.div)
        found = _quotient(node) if divides else with_scalar(node, aten.mul)
        call = linear_call(found[0]) if found is not None else None
        if found is None or call is None:
            return None
        factor = _inverse(found[1]) if divides else found[1]
        if factor is None or not math.isfinite(factor):
            return No(f"1 / {found[1]:g} is not exact" if divides else f"the factor is {factor}")
        if call.scale != 1.0:
            return No(f"the linear layer is scaled by {call.scale:g} already", call.node)
        if call.residual is not None:
            return No("a residual is added before the multiplication", call.node)
        if call.is_shared:
            return No(call.readers(), call.node)
        op = Linear(activation=call.activation, scale=factor)
        return fuse(node, op, call.operands(), by=self.name, origin=call.node)


def _quotient(node: fx.Node) -> tuple[fx.Node, float] | None:
    pair = operands(node, aten.div)
    number = scalar(pair[1]) if pair is not None else None
    if pair is None or number is None or not isinstance(pair[0], fx.Node):
        return None
    return pair[0], number


def _inverse(divisor: float) -> float | None:
    """1 / divisor if f32 holds divisor and inverse exactly; None otherwise."""
    tiny = torch.finfo(torch.float32).tiny
    if not tiny <= abs(divisor) <= 1 / tiny or abs(math.frexp(divisor)[0]) != 0.5:
        return None
    return 1 / divisor
