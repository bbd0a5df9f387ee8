"""Multiplying out what a model writes as sums, products and powers of one value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

from torch import fx

from forge_ugc.passes.graph import aten, is_call
from forge_ugc.passes.operators.matching import operands, scalar

Terms = dict[int, float]
"""Coefficient by power."""
_DEPTH = 6


def polynomial(value: object, x: fx.Node, depth: int = _DEPTH) -> Terms | None:
    """The value as a polynomial in x; None if it is none, or nested more than six deep."""
    if value is x:
        return {1: 1.0}
    number = scalar(value)
    if number is not None:
        return {0: number}
    if depth == 0 or not isinstance(value, fx.Node):
        return None
    if is_call(value, aten.pow.Tensor_Scalar):
        base, exponent = polynomial(value.args[0], x, depth - 1), scalar(value.args[1])
        if base is None or exponent not in (1.0, 2.0, 3.0):
            return None
        power = base
        for _ in range(int(exponent) - 1):
            power = _times(power, base)
        return power
    if is_call(value, aten.square):
        base = polynomial(value.args[0], x, depth - 1)
        return None if base is None else _times(base, base)
    pair = operands(value, aten.add, aten.sub, aten.mul, aten.div)
    if pair is None:
        return None
    a, b = polynomial(pair[0], x, depth - 1), polynomial(pair[1], x, depth - 1)
    return None if a is None or b is None else _combine(value, a, b)


def _combine(node: fx.Node, a: Terms, b: Terms) -> Terms | None:
    if is_call(node, aten.mul):
        return _times(a, b)
    if is_call(node, aten.div):
        return {p: c / b[0] for p, c in a.items()} if set(b) == {0} and b[0] else None
    sign = -1.0 if is_call(node, aten.sub) else 1.0
    return {p: a.get(p, 0.0) + sign * b.get(p, 0.0) for p in a.keys() | b.keys()}


def _times(a: Terms, b: Terms) -> Terms:
    product: Terms = {}
    for p, c in a.items():
        for q, d in b.items():
            product[p + q] = product.get(p + q, 0.0) + c * d
    return product


def is_polynomial(value: object, x: fx.Node, wanted: Terms) -> bool:
    """True if the value is that polynomial in x, each coefficient to six digits."""
    terms = polynomial(value, x)
    if terms is None:
        return False
    return all(
        math.isclose(terms.get(p, 0.0), wanted.get(p, 0.0), rel_tol=1e-6)
        for p in terms.keys() | wanted.keys()
    )


def arguments(value: object) -> Iterator[fx.Node]:
    """Every value that the expression might be a polynomial in, the innermost last."""
    seen: set[fx.Node] = set()
    level = [cast(fx.Node, value)]
    for _ in range(_DEPTH):
        below = []
        for node in level:
            for source in node.all_input_nodes:
                if source not in seen:
                    seen.add(source)
                    yield source
                    below.append(source)
        level = [n for n in below if is_call(n, aten.add, aten.sub, aten.mul, aten.div, aten.pow)]
