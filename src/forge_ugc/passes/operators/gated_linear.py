"""Gate times up projection: SwiGLU, GeGLU and their kin."""

from __future__ import annotations

from torch import fx

from forge_ugc.ops.gated_linear import GatedLinear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten
from forge_ugc.passes.operators.linear_call import LinearCall, linear_call
from forge_ugc.passes.operators.matching import fuse, operands


class GatedLinearFromTwo(Rewrite):
    """mul(act(linear(x, wg)), linear(x, wu))  ->  gated_linear(x, wg, wu) {activation = act}."""

    name = "gated-linear"
    tier = 0.4
    anchors = (aten.mul.Tensor,)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        pair = operands(node, aten.mul)
        if pair is None or pair[0] is pair[1]:
            return None
        gate, up = linear_call(pair[0]), linear_call(pair[1])
        if gate is None or up is None:
            return None
        if gate.activation == "none":
            gate, up = up, gate
        refusal = _refuse(gate, up)
        if refusal is not None:
            return refusal
        args = (gate.x, gate.w, up.w, gate.b, up.b)
        op = GatedLinear(activation=gate.activation)
        return fuse(node, op, args, by=self.name, origin=gate.node)


def _refuse(gate: LinearCall, up: LinearCall) -> No | None:
    if gate.x is not up.x:
        return No(f"gate reads {gate.x.name}, up reads {up.x.name}", up.node)
    if up.activation != "none":
        return No(f"both factors are activated: {gate.activation} and {up.activation}", up.node)
    for call in (gate, up):
        if call.residual is not None:
            return No("a residual is added before the product", call.node)
        if call.scale != 1.0:
            return No("the layer is scaled before the product", call.node)
        if call.is_shared:
            return No(call.readers(), call.node)
    return None
