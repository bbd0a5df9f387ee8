"""A constant vector that is added to a linear layer is its bias."""

from __future__ import annotations

from typing import cast

import torch
from torch import fx

from forge_ugc.ops.linear import Linear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import add_constant, aten, constant_of, tensor_type
from forge_ugc.passes.operators.linear_call import linear_call
from forge_ugc.passes.operators.matching import fuse, operands


class LinearBias(Rewrite):
    """add(linear(x, w), b)  ->  linear(x, w, b) for a constant b: [out] or [1, ..., 1, out]."""

    name = "linear-bias"
    tier = 0.2
    anchors = (aten.add.Tensor,)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        pair = operands(node, aten.add)
        for value, addend in (pair, pair[::-1]) if pair else ():
            call, kind = linear_call(value), tensor_type(node)
            if call is None or kind is None or (tensor := constant_of(addend)) is None:
                continue
            bias = tensor_type(addend)
            if bias is not None and bias.rank > 1 and bias.shape == kind.shape:
                return None  # a residual
            if bias is None or bias.shape[-1:] != kind.shape[-1:] or bias.numel != kind.shape[-1]:
                return No(f"the addend is {bias}, a bias would be [{kind.shape[-1]}]",
                          cast(fx.Node, addend))  # fmt: skip
            if not call.is_plain:
                return No("the constant is added after activation, scale or residual", call.node)
            if call.b is not None:
                return No("the linear layer has a bias already", call.node)
            if call.is_shared:
                return No(call.readers(), call.node)
            vector = _vector(node, cast(fx.Node, addend), tensor)
            return fuse(node, Linear(), call.having(b=vector), by=self.name, origin=call.node)
        return None


def _vector(anchor: fx.Node, bias: fx.Node, value: torch.Tensor) -> fx.Node:
    if value.ndim == 1:
        return bias
    return add_constant(anchor, f"{bias.target}_vector", value.detach().view(-1))
