"""Multiplying out expressions of one value."""

import torch
from torch import fx

from forge_ugc.passes.operators.polynomial import arguments, is_polynomial, polynomial

aten = torch.ops.aten


def graph():
    g = fx.Graph()
    return g, g.placeholder("x")


def test_sums_products_powers_and_quotients():
    g, x = graph()
    cube = g.call_function(aten.pow.Tensor_Scalar, (x, 3))
    scaled = g.call_function(aten.mul.Tensor, (cube, 0.5))
    total = g.call_function(aten.sub.Tensor, (scaled, x))
    half = g.call_function(aten.div.Tensor, (total, 2.0))
    assert polynomial(half, x) == {3: 0.25, 1: -0.5}
    square = g.call_function(aten.mul.Tensor, (total, total))
    assert polynomial(square, x) == {6: 0.25, 4: -1.0, 2: 1.0}


def test_what_is_no_polynomial():
    g, x = graph()
    y = g.placeholder("y")
    assert polynomial(y, x) is None
    assert polynomial(g.call_function(aten.add.Tensor, (x, y)), x) is None
    assert polynomial(g.call_function(aten.div.Tensor, (1.0, x)), x) is None
    assert polynomial(g.call_function(aten.div.Tensor, (x, 0.0)), x) is None
    assert polynomial(g.call_function(aten.pow.Tensor_Scalar, (x, 0.5)), x) is None
    assert polynomial(g.call_function(aten.exp.default, (x,)), x) is None
    scaled = g.call_function(aten.add.Tensor, (x, x), {"alpha": 2})
    assert polynomial(scaled, x) is None


def test_nesting_is_bounded():
    g, x = graph()
    node = x
    for _ in range(6):
        node = g.call_function(aten.add.Tensor, (node, 1.0))
    assert polynomial(node, x) == {1: 1.0, 0: 6.0}
    assert polynomial(g.call_function(aten.add.Tensor, (node, 1.0)), x) is None


def test_coefficients_hold_to_six_digits():
    g, x = graph()
    scaled = g.call_function(aten.mul.Tensor, (x, 0.79788456))
    assert is_polynomial(scaled, x, {1: 0.7978845608})
    assert not is_polynomial(scaled, x, {1: 0.79789})
    assert not is_polynomial(scaled, x, {1: 0.79788456, 3: 0.01})


def test_arguments_go_through_arithmetic_only():
    g, x = graph()
    inner = g.call_function(aten.exp.default, (x,))
    value = g.call_function(aten.mul.Tensor, (g.call_function(aten.add.Tensor, (inner, 1.0)), 2.0))
    assert [n.name for n in arguments(value)] == ["add_tensor", "exp_default"]
