"""A residual addition behind a linear layer is computed with it."""

from __future__ import annotations

from torch import fx

from forge_ugc.ops.linear import Linear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, tensor_type
from forge_ugc.passes.operators.linear_call import LinearCall, linear_call
from forge_ugc.passes.operators.matching import fuse, operands


class Residual(Rewrite):
    """add(r, c * act(linear(x, w, b)))  ->  linear(x, w, b, r) {activation = act, scale = c}.

    Of two linear layers that are added, the later one takes the earlier one's result.
    """

    name = "residual"
    tier = 0.4
    anchors = (aten.add.Tensor,)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        pair = operands(node, aten.add)
        if pair is None:
            both = [linear_call(a) for a in node.args[:2]]
            return No("alpha scales one of the addends") if any(both) else None
        found = [
            (call, r)
            for v, r in (pair, pair[::-1])
            if isinstance(r, fx.Node) and (call := linear_call(v)) is not None
        ]
        found.sort(key=lambda item: item[0].node, reverse=True)
        refusal: No | None = None
        for call, residual in found:
            if call.residual is not None and call.is_shared:
                continue  # the residual stream itself
            refusal = _refuse(call, residual)
            if refusal is None:
                return fuse(node, Linear(activation=call.activation, scale=call.scale),
                            call.having(residual=residual),
                            by=self.name, origin=call.node)  # fmt: skip
        return refusal


def _refuse(call: LinearCall, residual: fx.Node) -> No | None:
    want, addend = tensor_type(call.node), tensor_type(residual)
    if want is None or addend is None or (addend.shape, addend.dtype) != (want.shape, want.dtype):
        return No(f"the residual is {addend}, the linear layer's result {want}", call.node)
    if residual is call.node or call.is_shared:
        return No(call.readers(), call.node)
    if call.residual is not None:
        return No("the linear layer adds a residual already", call.node)
    return None
