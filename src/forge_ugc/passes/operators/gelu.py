"""GELU written by hand, with the error function or with tanh."""

from __future__ import annotations

import math
from typing import cast

from torch import fx

from forge_ugc.ops.core.layout import like
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, is_call, tensor_type
from forge_ugc.passes.operators.matching import WIDE, operands, sole_user, substitute, with_scalar
from forge_ugc.passes.operators.polynomial import arguments, is_polynomial, polynomial

_CUBIC = 0.044715
_TANH = {1: math.sqrt(2 / math.pi), 3: math.sqrt(2 / math.pi) * _CUBIC}
_ERF = {1: math.sqrt(0.5)}


class GeluChain(Rewrite):
    """x * 0.5 * (1 + erf(x / sqrt(2)))  ->  gelu(x);  the same with tanh -> gelu(x, "tanh").

    The factors may stand in any order, and the cubic in any form that multiplies out to
    sqrt(2 / pi) * (x + 0.044715 x^3). Only in f32 and f64: in bf16 the chain's 1 + tanh cancels to
    few bits, which gelu does not repeat.
    Source: Hendrycks & Gimpel 2016, section 2.
    """

    name = "gelu"
    tier = 0.4
    anchors = (aten.erf.default, aten.tanh.default)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        shifted = sole_user(node)
        added = with_scalar(shifted, aten.add)
        if shifted is None or added is None or added[1] != 1.0:
            return None
        inner = cast(fx.Node, node.args[0])
        wanted = _ERF if is_call(node, aten.erf) else _TANH
        x = next((c for c in arguments(inner) if is_polynomial(inner, c, wanted)), None)
        if x is None:
            return No(f"the argument of {node.target} is not the one of gelu", inner)
        last = _product(shifted, x)
        if last is None:
            return No("the product with x / 2 is missing or read before it is complete", shifted)
        kind = tensor_type(x)
        if kind is None or kind.dtype not in WIDE:
            return No(f"the chain computes in {kind}, where every step rounds", x)
        approximate = "none" if is_call(node, aten.erf) else "tanh"
        named = {"approximate": approximate}
        return substitute(last, aten.gelu.default, (x,), named, kind=like(kind), by=self.name)


def _product(value: fx.Node, x: fx.Node) -> fx.Node | None:
    """The node that holds value * x / 2, climbing through products that nothing else reads."""
    factor, power = 1.0, 0
    while (factor, power) != (0.5, 1):
        user = sole_user(value)
        pair = operands(user, aten.mul, aten.div)
        if user is None or pair is None or power > 1:
            return None
        a, b = pair
        beside = b if a is value else a
        terms = polynomial(beside, x)
        if terms is None or len(terms) != 1 or (is_call(user, aten.div) and a is not value):
            return None
        ((degree, scale),) = terms.items()
        if is_call(user, aten.div):
            degree, scale = -degree, 1 / scale if scale else math.nan
        factor, power, value = factor * scale, power + degree, user
    return value
