"""SiLU written by hand."""

from __future__ import annotations

from torch import fx

from forge_ugc.ops.core.layout import like
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, tensor_type
from forge_ugc.passes.operators.matching import WIDE, other, sole_user, substitute


class SiluChain(Rewrite):
    """x * sigmoid(x)  ->  silu(x), in f32 and f64: in bf16 the chain rounds twice."""

    name = "silu"
    tier = 0.4
    anchors = (aten.sigmoid.default,)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        x, product = node.args[0], sole_user(node)
        if not isinstance(x, fx.Node) or product is None:
            return None
        if other(product, node, aten.mul.Tensor) is not x:
            return None
        kind = tensor_type(x)
        if kind is None or kind.dtype not in WIDE:
            return No(f"the chain computes in {kind}, where every step rounds", x)
        return substitute(product, aten.silu.default, (x,), kind=like(kind), by=self.name)
