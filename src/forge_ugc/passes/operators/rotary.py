"""Rotary position embedding with one angle per element or per pair."""

from __future__ import annotations

from typing import cast

from torch import fx

from forge_ugc.ops.rotary import Rotary
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, is_call, tensor_type
from forge_ugc.passes.operators.matching import argument, fuse, last_axis, operands
from forge_ugc.passes.operators.pieces import halves, pairs

_FLATTEN = (aten.flatten.using_ints, aten.view.default, aten.reshape.default)


def joined(value: object) -> tuple[object, object, bool] | None:
    """(a, b, interleaved) of cat((a, b), -1) or stack((a, b), -1).flatten(-2); None otherwise."""
    interleaved = is_call(value, *_FLATTEN)
    inner = cast(fx.Node, value).args[0] if interleaved else value
    if not is_call(inner, aten.stack if interleaved else aten.cat):
        return None
    node, kind = cast(fx.Node, inner), tensor_type(inner)
    parts = cast(list[object], node.args[0])
    if kind is None or len(parts) != 2 or not last_axis(argument(node, 1, "dim", 0), kind.rank):
        return None
    shape = tensor_type(value)
    if shape is None or (interleaved and shape.shape != (*kind.shape[:-2], kind.shape[-2] * 2)):
        return None
    return parts[0], parts[1], interleaved


class RotaryByElement(Rewrite):
    """x * cos + cat((-b, a), -1) * sin, with a, b the halves of x  ->  rotary(x, cos, sin).

    With a, b the even and odd elements of x, joined as stack((-b, a), -1).flatten(-2), the rotary
    is interleaved. A form with the sign on the other half is left alone.
    """

    name = "rotary"
    tier = 0.6
    anchors = (aten.add.Tensor,)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        pair = operands(node, aten.add)
        for straight, crossed in (pair, pair[::-1]) if pair else ():
            turned = _turned(crossed)
            if turned is None:
                continue
            if isinstance(turned, No):
                return turned
            x, sin, interleaved = turned
            product = operands(straight, aten.mul.Tensor)
            if product is None or x not in product:
                return No(f"nothing multiplies {x.name} itself", cast(fx.Node, crossed))
            cos = product[1] if product[0] is x else product[0]
            if not isinstance(cos, fx.Node) or not isinstance(sin, fx.Node):
                return No("cos or sin is a number, not a tensor", cast(fx.Node, straight))
            shared = _read_outside(cast(fx.Node, straight), cast(fx.Node, crossed))
            if shared is not None:
                return shared
            return fuse(node, Rotary(interleaved=interleaved), (x, cos, sin),
                        by=self.name, origin=node)  # fmt: skip
        return None


def _turned(value: object) -> tuple[fx.Node, object, bool] | No | None:
    """(x, sin, interleaved) of rotate(x) * sin; `No` if the sign is on the other half."""
    pair = operands(value, aten.mul.Tensor)
    for side, sin in (pair, pair[::-1]) if pair else ():
        parts = joined(side)
        if parts is None:
            continue
        first, second, interleaved = parts
        split = pairs if interleaved else halves
        if is_call(first, aten.neg):
            x = split(second, cast(fx.Node, first).args[0])
            return None if x is None else (x, sin, interleaved)
        if is_call(second, aten.neg) and split(cast(fx.Node, second).args[0], first) is not None:
            return No("the sign is on the first half, not on the second", cast(fx.Node, side))
    return None


def _read_outside(*inner: fx.Node) -> No | None:
    for node in inner:
        if len(node.users) != 1:
            return No(f"{node.name} is read by {len(node.users)} nodes", node)
    return None


class RotaryByPair(Rewrite):
    """cat((a * cos - b * sin, b * cos + a * sin), -1), a, b the halves of x -> rotary(x, cos, sin).

    cos and sin hold one value per pair. With a, b the even and odd elements of x, joined by stack
    and flatten, the rotary is interleaved.
    """

    name = "rotary-by-pair"
    tier = 0.6
    anchors = (aten.cat.default, *_FLATTEN)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        parts = joined(node)
        if parts is None:
            return None
        first, second, interleaved = parts
        minus, plus = operands(first, aten.sub.Tensor), operands(second, aten.add.Tensor)
        if minus is None or plus is None:
            return None
        split = pairs if interleaved else halves
        match = _solve(minus, plus, split)
        if match is None:
            return None
        x, cos, sin = match
        inner = [cast(fx.Node, n) for n in (first, second, *minus, *plus)]
        shared = _read_outside(*inner)
        if shared is not None:
            return shared
        return fuse(node, Rotary(interleaved=interleaved), (x, cos, sin),
                    by=self.name, origin=node)  # fmt: skip


def _solve(
    minus: tuple[object, object], plus: tuple[object, object], split: object
) -> tuple[fx.Node, fx.Node, fx.Node] | None:
    """x, cos, sin of (a cos - b sin, b cos + a sin), whatever the order of the factors."""
    left = [operands(v, aten.mul.Tensor) for v in minus]
    right = [operands(v, aten.mul.Tensor) for v in plus]
    if None in left or None in right:
        return None
    straight, crossed = cast(list[tuple[object, object]], left)
    for a, cos in (straight, straight[::-1]):
        for b, sin in (crossed, crossed[::-1]):
            x = split(a, b)  # type: ignore[operator]
            if x is None:
                continue
            wanted = [{b, cos}, {a, sin}]
            found = [set(cast(tuple[object, object], p)) for p in right]
            if wanted in (found, found[::-1]):
                return x, cast(fx.Node, cos), cast(fx.Node, sin)
    return None
