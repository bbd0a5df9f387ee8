"""PyTorch's elementwise operators as expressions."""

import pytest

from forge_ugc.npuir.instruction import Reg, Symbol
from forge_ugc.ops.core.expression import text
from forge_ugc.ops.core.pointwise import pointwise

A, B, C = Reg(1), Reg(2), Reg(3)


@pytest.mark.parametrize(
    ("opcode", "operands", "attributes", "want"),
    [
        ("aten.add.Tensor", (A, B), {}, "add(a, b)"),
        ("aten.add.Tensor", (A, A), {}, "add(a, a)"),
        ("aten.add.Tensor", (A, 2), {}, "add(a, 2)"),
        ("aten.add.Tensor", (A, B), {"alpha": 0.5}, "scaled_add(a, b, 0.5)"),
        ("aten.mul.Scalar", (A,), {"other": 0.1}, "mul(a, 0.1)"),
        ("aten.rsub.Scalar", (A,), {"other": 1.0}, "sub(1.0, a)"),
        ("aten.gelu.default", (A,), {"approximate": "tanh"}, "gelu_tanh(a)"),
        ("aten.clamp.default", (A,), {"min": 0}, "clamp_min(a, 0)"),
        ("aten.clamp.default", (A,), {"max": 0.5}, "clamp_max(a, 0.5)"),
        ("aten.clamp.default", (A,), {"min": -1, "max": 1}, "clamp(a, -1, 1)"),
        ("aten.pow.Tensor_Scalar", (A,), {"exponent": 3}, "pow(a, 3)"),
        ("aten.where.self", (C, A, B), {}, "where(a, b, c)"),
        ("aten.where.ScalarOther", (C, A), {"other": 0.0}, "where(a, b, 0.0)"),
        ("aten.where.ScalarSelf", (C, A), {"self": 0.0}, "where(a, 0.0, b)"),
        ("aten.masked_fill.Scalar", (A, C), {"value": 1.5}, "where(a, 1.5, b)"),
        ("aten.masked_fill.Tensor", (A, C, B), {}, "where(a, b, c)"),
        ("aten.to.dtype", (A,), {"dtype": Symbol("bf16")}, "bf16(a)"),
    ],
)
def test_expression(opcode, operands, attributes, want):
    assert text(pointwise(opcode, operands, attributes).expression) == want


@pytest.mark.parametrize(
    ("opcode", "operands", "attributes"),
    [
        ("aten.sub.Tensor", (A, B), {"alpha": 2}),
        ("aten.to.dtype", (A,), {"dtype": Symbol("i8")}),
        ("aten.clamp.default", (A,), {}),
        ("aten.matmul.default", (A, B), {}),
        ("aten.div.Tensor_mode", (A, B), {"rounding_mode": "floor"}),
    ],
)
def test_other_operators_have_none(opcode, operands, attributes):
    assert pointwise(opcode, operands, attributes) is None
