"""A linear layer between two reshapes applies to the last axis as it is."""

from __future__ import annotations

from typing import cast

from torch import fx

from forge_ugc.ops.linear import Linear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, is_call, tensor_type
from forge_ugc.passes.operators.linear_call import linear_call
from forge_ugc.passes.operators.matching import fuse


class LinearViews(Rewrite):
    """view(linear(view(x, [-1, in]), w, b), [..., out])  ->  linear(x, w, b)."""

    name = "linear-views"
    tier = 0.1
    anchors = (aten.view.default, aten.reshape.default, aten._unsafe_view.default)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        call = linear_call(node.args[0])
        if call is None or not is_call(call.x, *self.anchors):
            return None
        x = cast(fx.Node, call.x.args[0])
        inner, outer = tensor_type(x), tensor_type(node)
        weight = tensor_type(call.w)
        if inner is None or outer is None or weight is None or not inner.rank:
            return None
        if inner.shape[-1] != weight.shape[1] or outer.shape != (
            *inner.shape[:-1],
            weight.shape[0],
        ):
            return None
        if call.residual is not None:
            return No("a residual of the flattened shape is added before the reshape", call.node)
        if call.is_shared:
            return No(call.readers(), call.node)
        return fuse(node, Linear(activation=call.activation, scale=call.scale), (x, call.w, call.b),
                    by=self.name, origin=call.node)  # fmt: skip
