"""Writes an einsum that is one batched matrix product as `matmul` between transposed views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from torch import fx

from forge_ugc.passes.attention.peeling import typed
from forge_ugc.passes.base import Rewrite
from forge_ugc.passes.graph import aten, emit, tensor_type
from forge_ugc.passes.replacing import replace


@dataclass(frozen=True, slots=True)
class _Plan:
    """matmul(left permuted, right permuted) permuted; `swap` exchanges the operands first."""

    swap: bool
    left: list[int]
    right: list[int]
    result: list[int]


class EinsumToMatmul(Rewrite):
    """einsum("bihd,bjhd->bhij", q, k)  ->  matmul(permute(q), permute(k))"""  # noqa: D415

    name = "einsum-to-matmul"
    anchors = (aten.einsum.default,)

    def apply(self, node: fx.Node) -> fx.Node | None:
        operands = cast(Sequence[fx.Node], node.args[1])
        plan = _plan(cast(str, node.args[0]), operands) if len(operands) == 2 else None
        if plan is None:
            return None
        first, second = reversed(operands) if plan.swap else operands
        left = self._turned(first, plan.left, node)
        right = self._turned(second, plan.right, node)
        product = emit(node, aten.matmul.default, [left, right], by=self.name)
        result = self._turned(product, plan.result, node)
        replace(node, result)
        return result

    def _turned(self, node: fx.Node, order: list[int], anchor: fx.Node) -> fx.Node:
        if order == list(range(len(order))):
            return node
        return emit(anchor, aten.permute.default, [node, order], by=self.name)


def _plan(equation: str, operands: Sequence[fx.Node]) -> _Plan | None:
    """How to write it as one product; None unless one label is summed and each side keeps one."""
    inputs, arrow, out = equation.replace(" ", "").partition("->")
    labels = inputs.split(",")
    if not arrow or "." in equation or any(len(set(x)) != len(x) for x in (*labels, out)):
        return None
    a, b = labels
    batch = [x for x in out if x in a and x in b]
    summed = [x for x in a if x in b and x not in out]
    free = [[x for x in side if x not in other] for side, other in ((a, b), (b, a))]
    if len(summed) != 1 or [len(x) for x in free] != [1, 1] or not _same_sizes(labels, operands):
        return None
    if any(x not in out for side in free for x in side):
        return None
    swap = out.index(free[0][0]) > out.index(free[1][0])
    if swap:
        (a, b), free = (b, a), free[::-1]
    product = [*batch, *free[0], *free[1]]
    return _Plan(
        swap,
        [a.index(x) for x in (*batch, *free[0], *summed)],
        [b.index(x) for x in (*batch, *summed, *free[1])],
        [product.index(x) for x in out],
    )


def _same_sizes(labels: Sequence[str], operands: Sequence[fx.Node]) -> bool:
    """True if no size is stretched from 1."""
    sizes: dict[str, int] = {}
    for names, operand in zip(labels, operands, strict=True):
        kind = tensor_type(operand)
        if kind is None or kind.rank != len(names):
            return False
        for name, size in zip(names, typed(operand).shape, strict=True):
            if sizes.setdefault(name, size) != size:
                return False
    return True
