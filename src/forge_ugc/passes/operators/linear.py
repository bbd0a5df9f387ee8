"""Every matrix product with a constant weight becomes the one operator `linear`."""

from __future__ import annotations

from typing import cast

import torch
from torch import fx

from forge_ugc.ops.linear import Linear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import add_constant, aten, constant_of, is_call, tensor_type
from forge_ugc.passes.operators.matching import argument, fuse


class LinearFromProduct(Rewrite):
    """linear(x, w, b), matmul(x, w), mm(x, w), addmm(b, x, w)  ->  forge.linear(x, w or w.T, b).

    A weight that PyTorch keeps as [in, out] (GPT-2's Conv1D) becomes a constant that views the same
    memory transposed. Matrix products of two computed values are none of our business.
    """

    name = "linear"
    tier = 0.1
    anchors = (aten.linear.default, aten.addmm.default, aten.mm.default, aten.matmul.default)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        if is_call(node, aten.linear):
            x, w, b = node.args[0], node.args[1], argument(node, 2, "bias")
            weight = _weight(w, turned=False)
            if weight is None:
                return No("the weight is not a constant with two axes", cast(fx.Node, w))
            return self._replace(node, x, weight, b)
        if is_call(node, aten.addmm):
            b, x, w = node.args[:3]
            weight = _weight(w, turned=True)
            if weight is None:
                return None
            if node.kwargs.get("beta", 1) != 1 or node.kwargs.get("alpha", 1) != 1:
                return No("beta and alpha scale the addend and the product")
            return self._replace(node, x, weight, b)
        x, w = node.args[:2]
        weight = _weight(w, turned=True)
        return None if weight is None else self._replace(node, x, weight, None)

    def _replace(
        self, node: fx.Node, x: object, weight: tuple[fx.Node, torch.Tensor | None], b: object
    ) -> fx.Node | No:
        kind = tensor_type(x)
        if kind is None or not kind.rank or not kind.dtype.is_float:
            return No(f"the input is {kind}, expected floating point with a last axis")
        addend, residual = b, None
        if addend is not None and constant_of(addend) is None:
            given, want = tensor_type(addend), tensor_type(node)
            same = given is not None and want is not None and given.shape == want.shape
            if is_call(node, aten.linear) or not same:
                return No("the bias is not a constant", cast(fx.Node, addend))
            addend, residual = None, addend
        source, view = weight
        if view is not None:
            source = add_constant(node, f"{source.target}_T", view)
        return fuse(node, Linear(), (x, source, addend, residual), by=self.name, origin=node)


def _weight(value: object, *, turned: bool) -> tuple[fx.Node, torch.Tensor | None] | None:
    """The node to read as [out, in], or the constant's node and the view of it to read instead.

    Args:
        value: the weight operand: a constant, or a constant behind transpositions.
        turned: the product reads it as [in, out].
    """
    while is_call(value, aten.t, aten.numpy_T, aten.transpose, aten.permute, aten.mT):
        node = cast(fx.Node, value)
        kind = tensor_type(node)
        if kind is None or kind.rank != 2:
            return None
        dims = argument(node, 1, "dims") if is_call(node, aten.permute) else node.args[1:]
        swaps = not dims or [cast(int, d) % 2 for d in cast(list[object], dims)] != [0, 1]
        if is_call(node, aten.transpose):
            a, b = (cast(int, d) % 2 for d in node.args[1:3])
            swaps = a != b
        turned ^= swaps
        value = node.args[0]
    tensor = constant_of(value)
    if tensor is None or tensor.ndim != 2:
        return None
    return cast(fx.Node, value), tensor.detach().t() if turned else None
