"""Which operand's memory the first result of an instruction may take over."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import lru_cache

from forge_ugc.npuir.instruction import Const, Instruction, Ref, Reg, State, ViewOf
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.op import lookup
from forge_ugc.ops.core.schema import holds_tensors, overload_of, parameters

_UNARY = (
    "abs", "bitwise_not", "ceil", "clamp", "clamp_max", "clamp_min", "cos", "elu", "erf", "exp",
    "expm1", "floor", "gelu", "hardsigmoid", "hardtanh", "leaky_relu", "log", "log1p",
    "logical_not", "mish", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid",
    "sign", "silu", "sin", "softplus", "sqrt", "square", "tanh", "trunc",
)  # fmt: skip
_BINARY = ("add", "bitwise_and", "bitwise_or", "bitwise_xor", "div", "eq", "ge", "gt", "le", "lt",
           "mul", "ne", "sub")  # fmt: skip

ATEN: Mapping[str, tuple[str, ...]] = {
    **{f"aten.{name}.default": ("self",) for name in _UNARY},
    **{f"aten.{name}.Tensor": ("self", "other") for name in _BINARY},
    **{f"aten.{name}.Scalar": ("self",) for name in _BINARY},
    "aten.addcdiv.default": ("self", "tensor1", "tensor2"),
    "aten.addcmul.default": ("self", "tensor1", "tensor2"),
    "aten.div.Tensor_mode": ("self", "other"),
    "aten.logical_and.default": ("self", "other"),
    "aten.logical_or.default": ("self", "other"),
    "aten.masked_fill.Scalar": ("self",),
    "aten.maximum.default": ("self", "other"),
    "aten.minimum.default": ("self", "other"),
    "aten.pow.Tensor_Scalar": ("self",),
    "aten.pow.Tensor_Tensor": ("self", "exponent"),
    "aten.rsub.Scalar": ("self",),
    "aten.where.self": ("condition", "self", "other"),
}
"""Pointwise PyTorch operators whose `out=` form may be exactly one of these operands."""


def inplace_operands(
    instruction: Instruction, types: Mapping[Ref, TensorType], roots: Mapping[Ref, ViewOf]
) -> tuple[Reg, ...]:
    """Registers among the operands that result 0 may overwrite, in operand order.

    A register qualifies if the operator reads its element i for the last time before it writes
    element i of the result, if both have exactly one type (dtype, shape and strides, each address
    used once), and if no other operand of the instruction shares its memory, save the same
    register in a place that qualifies too (`mul(x, x)`). Whether the register dies here is the
    caller's to know.

    Args:
        instruction: the instruction.
        types: type of everything readable (`Program.types()`).
        roots: owner of everything readable (`Program.roots()`).
    """
    places = _positions(instruction.opcode)
    if not places or not instruction.results or instruction.results[0].view is not None:
        return ()
    wanted = instruction.results[0].type
    found: list[Reg] = []
    given = _flat(instruction)
    for position, operand in given:
        if (
            position in places
            and isinstance(operand, Reg)
            and operand not in found
            and types[operand] == wanted
            and wanted.is_dense
            and _alone(given, operand, places, roots)
        ):
            found.append(operand)
    return tuple(found)


def _flat(instruction: Instruction) -> list[tuple[int, object]]:
    """Every operand with its place in the operand list; the items of a list share theirs."""
    return [
        (position, item)
        for position, operand in enumerate(instruction.operands)
        for item in (operand if isinstance(operand, tuple) else (operand,))
    ]


def _alone(
    given: list[tuple[int, object]],
    reg: Reg,
    places: frozenset[int],
    roots: Mapping[Ref, ViewOf],
) -> bool:
    owner = roots[reg].base
    return not any(
        isinstance(item, Reg | Const | State) and item in roots and roots[item].base == owner
        for position, item in given
        if not (item == reg and position in places)
    )


@lru_cache(maxsize=4096)
def _positions(opcode: str) -> frozenset[int]:
    """Places in the operand list whose registers may be overwritten."""
    if "." not in opcode:
        ours = lookup(opcode)
        if ours is None or not ours.inplace_operands:
            return frozenset()
        names = list(inspect.signature(ours.infer).parameters)[1:]
        return frozenset(names.index(name) for name in ours.inplace_operands)
    if opcode not in ATEN:
        return frozenset()
    tensors = [n for n, kind, _, _ in parameters(overload_of(opcode)) if holds_tensors(kind)]
    return frozenset(tensors.index(name) for name in ATEN[opcode])
