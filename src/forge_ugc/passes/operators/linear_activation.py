"""An activation right behind a linear layer is computed with it."""

from __future__ import annotations

from torch import fx

from forge_ugc.ops.linear import Linear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, is_call
from forge_ugc.passes.operators.linear_call import linear_call
from forge_ugc.passes.operators.matching import argument, fuse

_NAMES = {
    aten.relu.default: "relu",
    aten.silu.default: "silu",
    aten.sigmoid.default: "sigmoid",
    aten.tanh.default: "tanh",
}


def activation_of(value: object) -> str | None:
    """The name of an activation call in the table of `forge_ugc.ops.core.activation`, or None."""
    if not isinstance(value, fx.Node) or value.op != "call_function":
        return None
    if is_call(value, aten.gelu.default):
        approximate = argument(value, 1, "approximate", "none")
        return {"none": "gelu", "tanh": "gelu_tanh"}.get(str(approximate))
    return next((name for target, name in _NAMES.items() if value.target is target), None)


class LinearActivation(Rewrite):
    """act(linear(x, w, b))  ->  linear(x, w, b) {activation = act}."""

    name = "linear-activation"
    tier = 0.2
    anchors = (*_NAMES, aten.gelu.default)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        call, activation = linear_call(node.args[0]), activation_of(node)
        if call is None or activation is None:
            return None
        if call.activation != "none":
            return No(f"the linear layer ends in {call.activation} already", call.node)
        if call.residual is not None:
            return No("a residual is added before the activation", call.node)
        if call.scale != 1.0:
            return No("the layer is scaled before the activation", call.node)
        if call.is_shared:
            return No(call.readers(), call.node)
        return fuse(node, Linear(activation=activation), call.operands(),
                    by=self.name, origin=call.node)  # fmt: skip
