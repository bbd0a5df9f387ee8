"""PyTorch's elementwise operators as expressions over their tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from forge_ugc.npuir.instruction import Attribute, Symbol
from forge_ugc.ops.core.expression import Call, Constant, Expression, Operand
from forge_ugc.ops.core.functions import FUNCTIONS

_UNARY = ("abs", "bitwise_not", "ceil", "cos", "erf", "exp", "expm1", "floor", "isnan", "log",
          "log1p", "logical_not", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign",
          "silu", "sin", "sqrt", "square", "tanh", "trunc")  # fmt: skip
_BINARY = ("bitwise_and", "bitwise_or", "bitwise_xor", "div", "eq", "ge", "gt", "le", "lt", "mul",
           "ne")  # fmt: skip
_PAIRS = ("logical_and", "logical_or", "maximum", "minimum")

_SIMPLE: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType({
    **{f"aten.{name}.default": (name, ("self",)) for name in _UNARY},
    **{f"aten.{name}.Tensor": (name, ("self", "other")) for name in _BINARY},
    **{f"aten.{name}.Scalar": (name, ("self", "other")) for name in _BINARY},
    **{f"aten.{name}.default": (name, ("self", "other")) for name in _PAIRS},
    **{f"aten.__{name}__.{o}": (f"bitwise_{name}", ("self", "other"))
       for name in ("and", "or", "xor") for o in ("Tensor", "Scalar")},
    "aten.clamp_max.default": ("clamp_max", ("self", "max")),
    "aten.clamp_min.default": ("clamp_min", ("self", "min")),
    "aten.masked_fill.Scalar": ("where", ("mask", "value", "self")),
    "aten.masked_fill.Tensor": ("where", ("mask", "value", "self")),
    "aten.pow.Tensor_Scalar": ("pow", ("self", "exponent")),
    "aten.where.self": ("where", ("condition", "self", "other")),
    "aten.where.ScalarOther": ("where", ("condition", "self", "other")),
    "aten.where.ScalarSelf": ("where", ("condition", "self", "other")),
    "aten.where.Scalar": ("where", ("condition", "self", "other")),
})  # fmt: skip
"""Opcode: function, and which parameters are its arguments."""

_OPERANDS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    **{f"aten.{n}.{o}": ("self", "other") for n in ("add", "sub", "rsub")
       for o in ("Tensor", "Scalar")},
    "aten.clamp.default": ("self",),
    "aten.gelu.default": ("self",),
    "aten.masked_fill.Tensor": ("self", "mask", "value"),
    "aten.masked_fill.Scalar": ("self", "mask"),
    "aten.to.dtype": ("self",),
    "aten._to_copy.default": ("self",),
})  # fmt: skip
"""Parameters that become operands of an instruction, where they are not the function's arguments
in order."""

OPCODES = tuple(sorted({*_SIMPLE, *_OPERANDS}))
"""Operators that `pointwise` knows."""

_IGNORED = frozenset({
    "memory_format", "non_blocking", "copy", "device", "layout", "pin_memory", "dtype",
    "approximate", "alpha", "min", "max",
})  # fmt: skip


class Pointwise(NamedTuple):
    """An expression, and the operands that its letters stand for."""

    expression: Expression
    operands: tuple[object, ...]


def pointwise(
    opcode: str, operands: Sequence[object], attributes: Mapping[str, Attribute]
) -> Pointwise | None:
    """What one elementwise operator computes; None if it is no such operator or has a variant.

    Args:
        opcode: `aten.add.Tensor`.
        operands: as an instruction has them; numbers stay numbers.
        attributes: those that differ from the schema's defaults.
    """
    if opcode not in OPCODES:
        return None
    names = _OPERANDS.get(opcode) or tuple(n for n in _SIMPLE[opcode][1] if n not in attributes)
    values: dict[str, object] = {**attributes, **dict(zip(names, operands, strict=False))}
    if len(operands) > len(names) or set(values) - _IGNORED - _known(opcode):
        return None
    tensors: list[object] = []

    def leaf(value: object) -> Expression:
        if isinstance(value, bool | int | float):
            return Constant.of(value)
        if value not in tensors:
            tensors.append(value)
        return Operand(tensors.index(value))

    made = _expression(opcode, values, leaf)
    return None if made is None else Pointwise(made, tuple(tensors))


def _known(opcode: str) -> set[str]:
    return {*_SIMPLE.get(opcode, ("", ()))[1], *_OPERANDS.get(opcode, ())}


def _expression(
    opcode: str, values: Mapping[str, object], leaf: Callable[[object], Expression]
) -> Expression | None:
    name = opcode.split(".")[1]
    if opcode in _SIMPLE:
        function, parameters = _SIMPLE[opcode]
        if any(p not in values for p in parameters):
            return None
        return Call(function, tuple(leaf(values[p]) for p in parameters))
    x = leaf(values["self"])
    if name in {"add", "sub", "rsub"}:
        return _sum(name, x, leaf(values.get("other", 0)), values.get("alpha", 1))
    if name == "clamp":
        low, high = values.get("min"), values.get("max")
        if low is None or high is None:
            bound = low if high is None else high
            function = "clamp_max" if low is None else "clamp_min"
            return None if bound is None else Call(function, (x, leaf(bound)))
        return Call("clamp", (x, leaf(low), leaf(high)))
    if name == "gelu":
        exact = values.get("approximate", "none") == "none"
        return Call("gelu" if exact else "gelu_tanh", (x,))
    dtype = values.get("dtype")
    if dtype is None:
        return x
    wanted = dtype.name if isinstance(dtype, Symbol) else ""
    return Call(wanted, (x,)) if wanted in FUNCTIONS else None


def _sum(name: str, x: Expression, y: Expression, alpha: object) -> Expression | None:
    if name == "rsub":
        x, y = y, x
    if alpha == 1:
        return Call("add" if name == "add" else "sub", (x, y))
    if not isinstance(alpha, int | float) or name != "add":
        return None
    return Call("scaled_add", (x, y, Constant.of(alpha)))
