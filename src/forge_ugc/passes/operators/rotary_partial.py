"""A rotary embedding of the first elements whose result is joined with the untouched rest."""

from __future__ import annotations

from typing import cast

from torch import fx

from forge_ugc.ops.rotary import Rotary
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, tensor_type
from forge_ugc.passes.operators.matching import argument, fuse, last_axis
from forge_ugc.passes.operators.pieces import Piece, piece, width


class RotaryPartial(Rewrite):
    """cat((rotary(x[..., :r], cos, sin), x[..., r:]), -1)  ->  rotary {rotary_dim = r}.

    The rest may be empty (Phi-3).
    """

    name = "rotary-partial"
    tier = 0.6
    anchors = (aten.cat.default,)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        parts, kind = cast(list[object], node.args[0]), tensor_type(node)
        if kind is None or len(parts) != 2 or not last_axis(argument(node, 1, "dim", 0), kind.rank):
            return None
        inner, rest = parts
        if not isinstance(inner, fx.Node) or inner.target is not Rotary.overload():
            return None
        if inner.kwargs.get("rotary_dim") is not None:
            return No("the rotary passes a rest of its own through", inner)
        source, turned = cast(fx.Node, inner.args[0]), width(inner)
        tail = piece(rest)
        whole = tail is not None and tail.base is source
        head = Piece(source, 0, turned) if whole else piece(source)
        if head is None or tail is None or head.base is not tail.base:
            return No("the turned part and the rest are not pieces of one value", inner)
        if not head.is_run(0, turned) or not tail.is_run(turned, width(head.base)):
            return No(
                f"the rest is elements {tail.start} to {tail.stop}, the turned part {head.start} "
                f"to {head.stop}", inner,
            )  # fmt: skip
        if len(inner.users) != 1:
            return No(f"{inner.name} is read by {len(inner.users)} nodes", inner)
        interleaved = bool(inner.kwargs.get("interleaved"))
        op = Rotary(interleaved=interleaved, rotary_dim=turned)
        return fuse(node, op, (head.base, *inner.args[1:3]), by=self.name, origin=inner)
