"""The sigmoid approximation of GELU behind a linear layer."""

from __future__ import annotations

import math
from typing import cast

from torch import fx

from forge_ugc.ops.core.activation import QUICK_GELU_SLOPE
from forge_ugc.ops.linear import Linear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten
from forge_ugc.passes.operators.linear_call import linear_call
from forge_ugc.passes.operators.matching import fuse, other, sole_user, with_scalar


class QuickGelu(Rewrite):
    """mul(y, sigmoid(mul(y, 1.702))), y = linear(x, w, b)  ->  linear {activation = "quick_gelu"}.

    The operator takes the same steps, so this holds in every dtype.
    """

    name = "quick-gelu"
    tier = 0.2
    anchors = (aten.sigmoid.default,)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        scaled = with_scalar(node.args[0], aten.mul)
        if scaled is None:
            return None
        call, last = linear_call(scaled[0]), sole_user(node)
        if call is None or last is None or other(last, node, aten.mul) is not call.node:
            return None
        inner = cast(fx.Node, node.args[0])
        if not math.isclose(scaled[1], QUICK_GELU_SLOPE, rel_tol=1e-6):
            return No(f"the sigmoid's slope is {scaled[1]}, quick_gelu's is {QUICK_GELU_SLOPE}")
        if not call.is_plain:
            return No("the linear layer has an activation or a residual already", call.node)
        outside = [u for u in call.node.users if u not in (inner, last)]
        if outside or sole_user(inner) is not node:
            return No(f"{call.node.name} is read outside of the activation too", call.node)
        return fuse(last, Linear(activation="quick_gelu"), call.operands(),
                    by=self.name, origin=call.node)  # fmt: skip
