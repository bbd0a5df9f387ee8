"""Gated linear units whose gate and up projection share one weight."""

from __future__ import annotations

from typing import cast

import torch
from torch import fx

from forge_ugc.ops.gated_linear import GatedLinear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import add_constant, aten, constant_of, tensor_type
from forge_ugc.passes.operators.linear_activation import activation_of
from forge_ugc.passes.operators.linear_call import LinearCall, linear_call
from forge_ugc.passes.operators.matching import argument, fuse, last_axis, operands
from forge_ugc.passes.operators.pieces import halves


class GatedLinearFromHalves(Rewrite):
    """a, b = chunk(linear(x, w), 2, -1); mul(act(a), b)  ->  gated_linear(x, w[:n], w[n:]).

    Either half may be the activated one; `glu(linear(x, w))` activates the second by sigmoid. The
    two weights are constants that view the rows of w.
    """

    name = "gated-halves"
    tier = 0.4
    anchors = (aten.mul.Tensor, aten.glu.default)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        if node.target is aten.glu.default:
            call, kind = linear_call(node.args[0]), tensor_type(node)
            if call is None or kind is None:
                return None
            if not last_axis(argument(node, 1, "dim", -1), kind.rank):
                return No("the halves are not those of the last axis")
            return self._fuse(node, call, "sigmoid", {node}, first_is_gate=False)
        pair = operands(node, aten.mul)
        for gate, up in (pair, pair[::-1]) if pair else ():
            activation = activation_of(gate)
            if activation is None:
                continue
            inner = cast(fx.Node, cast(fx.Node, gate).args[0])
            for first_is_gate in (True, False):
                base = halves(inner, up) if first_is_gate else halves(up, inner)
                call = linear_call(base)
                if call is not None:
                    inside = {inner, cast(fx.Node, up), cast(fx.Node, gate)}
                    inside |= {cast(fx.Node, n.args[0]) for n in (inner, cast(fx.Node, up))}
                    return self._fuse(node, call, activation, inside, first_is_gate=first_is_gate)
        return None

    def _fuse(
        self, node: fx.Node, call: LinearCall, activation: str, inside: set[fx.Node],
        *, first_is_gate: bool,
    ) -> fx.Node | No:  # fmt: skip
        if not call.is_plain:
            return No("the linear layer has an activation or a residual of its own", call.node)
        for part in inside | {call.node}:
            outside = [u for u in part.users if u not in inside and u is not node]
            if part is not node and outside:
                return No(f"{part.name} is read by {outside[0].name} too", part)
        if constant_of(call.w) is None or (call.b is not None and constant_of(call.b) is None):
            return No("weight or bias is not a constant that could be halved", call.node)
        gate, up = _halve(node, call.w)
        b_gate, b_up = (None, None) if call.b is None else _halve(node, call.b)
        if not first_is_gate:
            gate, up, b_gate, b_up = up, gate, b_up, b_gate
        return fuse(node, GatedLinear(activation=activation), (call.x, gate, up, b_gate, b_up),
                    by=self.name, origin=call.node)  # fmt: skip


def _halve(anchor: fx.Node, source: fx.Node) -> tuple[fx.Node, fx.Node]:
    """Two constants that view the upper and the lower half of a constant's rows."""
    value = cast(torch.Tensor, constant_of(source)).detach()
    n = value.shape[0] // 2
    parts = value[:n], value[n:]
    first, second = (
        add_constant(anchor, f"{source.target}_{i}", part) for i, part in enumerate(parts)
    )
    return first, second
