"""Calls that return one of their operands unchanged, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import torch
from torch import fx

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.torch_types import to_torch
from forge_ugc.passes.core.aliasing import memory_of
from forge_ugc.passes.core.arguments import argument, first_tensor, operator_name
from forge_ugc.passes.core.views import permutation
from forge_ugc.passes.graph import constant_of, tensor_type

_COMPLEX = frozenset({DType.C64, DType.C128})


def identity_operand(node: fx.Node, *, arithmetic: bool = True) -> fx.Node | None:
    """The operand that a call returns with equal values and an equal type; None if it computes.

    With `arithmetic=False` only calls count that move data or do nothing at all. Whether the
    result may *be* that operand, or has to stay a copy of it since a caller could write to it, is
    for `Aliases.merge` to say.
    """
    name, mine = operator_name(node), tensor_type(node)
    if mine is None or not name:
        return None
    rule = _MOVES.get(name) or (_ARITHMETIC.get(name) if arithmetic else None)
    if rule is None:
        return _same_memory(node, mine)
    operand = rule(node)
    return operand if operand is not None and tensor_type(operand) == mine else None


def _same_memory(node: fx.Node, mine: TensorType) -> fx.Node | None:
    """`contiguous` of contiguous memory, `view` to the shape it has, dropout switched off."""
    base = memory_of(node)
    name = operator_name(node)
    if base is None or tensor_type(base) != mine or name not in _RESHAPING:
        return None
    return None if name.startswith("resolve_") and mine.dtype in _COMPLEX else base


# Views that return their whole operand if the type is the same. Not among them: `select`, `slice`,
# `diagonal`, `as_strided` (other elements) and transpositions (equal sizes may still be exchanged).
_RESHAPING = frozenset({
    "view", "reshape", "flatten", "unflatten", "ravel", "_reshape_alias", "reshape_as", "view_as",
    "_unsafe_view", "expand", "expand_as", "broadcast_to", "squeeze", "alias", "detach", "to",
    "type_as", "contiguous", "float", "cpu", "pin_memory", "dropout", "feature_dropout",
    "alpha_dropout", "feature_alpha_dropout", "lift", "lift_fresh", "positive", "real",
    "resolve_conj", "resolve_neg", "conj_physical", "atleast_1d", "atleast_2d", "atleast_3d",
    "sum_to_size",
})  # fmt: skip


def number(value: object) -> bool | int | float | None:
    """A Python number, or the one element of a constant tensor; None for anything else."""
    if isinstance(value, bool | int | float):
        return value
    tensor = constant_of(value)
    if tensor is None or tensor.numel() != 1 or tensor.device.type == "meta":
        return None
    item = tensor.item()
    return item if isinstance(item, bool | int | float) else None


def _kind(value: object) -> TensorType | None:
    kind = tensor_type(value)
    return None if kind is None or kind.dtype in _COMPLEX else kind


def _times_one(node: fx.Node) -> fx.Node | None:
    """X * 1 keeps every value, NaN and the sign of zero; complex products do not (inf * 0)."""
    a, b = node.args[0], node.args[1]
    for operand, other in ((a, b), (b, a)):
        if isinstance(operand, fx.Node) and _kind(operand) is not None and number(other) == 1:
            return operand
    return None


def _divided_by_one(node: fx.Node) -> fx.Node | None:
    """X / 1. Rounding divisions keep integers only."""
    x, kind = first_tensor(node), _kind(node.args[0])
    if kind is None or number(node.args[1]) != 1:
        return None
    rounds = operator_name(node) == "floor_divide" or argument(node, "rounding_mode") is not None
    return None if rounds and kind.dtype.is_float else x


def _plus_zero(node: fx.Node) -> fx.Node | None:
    """X + 0 for integers; for floats only -0.0 is neutral, since -0.0 + 0.0 is 0.0."""
    a, b = node.args[0], node.args[1]
    if argument(node, "alpha") != 1:
        return None
    for operand, other in ((a, b), (b, a)):
        kind, zero = _kind(operand), number(other)
        if kind is not None and zero is not None and zero == 0:
            if not kind.dtype.is_float or math.copysign(1.0, zero) < 0:
                return cast(fx.Node, operand)
    return None


def _minus_zero(node: fx.Node) -> fx.Node | None:
    """X - 0: keeps -0.0 as well, unless the zero itself is negative."""
    kind, zero = _kind(node.args[0]), number(node.args[1])
    if kind is None or argument(node, "alpha") != 1 or zero is None or zero != 0:
        return None
    return None if kind.dtype.is_float and math.copysign(1.0, zero) < 0 else first_tensor(node)


def _first_power(node: fx.Node) -> fx.Node | None:
    exponent = argument(node, "exponent")
    plain = isinstance(exponent, int | float) and exponent == 1
    return first_tensor(node) if plain and _kind(node.args[0]) is not None else None


def _bitwise_neutral(neutral: bool) -> Callable[[fx.Node], fx.Node | None]:
    def rule(node: fx.Node) -> fx.Node | None:
        a, b = node.args[0], node.args[1]
        for operand, other in ((a, b), (b, a)):
            kind = tensor_type(operand)
            if kind is not None and kind.dtype is DType.BOOL and number(other) is neutral:
                return cast(fx.Node, operand)
        return None

    return rule


def _copied(node: fx.Node) -> fx.Node | None:
    """A copy is its source if no caller can tell; `identity_operand` compares the strides.

    A copy of a complex tensor also resolves a pending conjugation, which types do not show.
    """
    return first_tensor(node) if _kind(node.args[0]) is not None else None


def _repeated_once(node: fx.Node) -> fx.Node | None:
    times = argument(node, "repeats") or argument(node, "dims")
    once = isinstance(times, list | tuple) and all(t == 1 for t in times)
    return _copied(node) if once else None


def _sliced_whole(node: fx.Node) -> fx.Node | None:
    """A slice of step 1 that keeps the size keeps everything."""
    return first_tensor(node) if argument(node, "step") == 1 else None


def _not_permuted(node: fx.Node) -> fx.Node | None:
    """A transposition that moves no dimension, or only dimensions of size one."""
    order, kind = permutation(node), tensor_type(first_tensor(node))
    if order is None or kind is None:
        return None
    moved = [d for d in order if kind.shape[d] != 1]
    return first_tensor(node) if moved == sorted(moved) else None


def _overwritten(node: fx.Node) -> fx.Node | None:
    """A write of a whole tensor over a whole tensor, as functionalisation leaves it."""
    source = argument(node, "src")
    if operator_name(node) == "slice_scatter" and argument(node, "step") != 1:
        return None
    return source if isinstance(source, fx.Node) and _kind(source) is not None else None


def _single(node: fx.Node) -> fx.Node | None:
    tensors = argument(node, "tensors")
    if not isinstance(tensors, list | tuple) or len(tensors) != 1:
        return None
    return cast(fx.Node, tensors[0]) if _kind(tensors[0]) is not None else None


_LOSSLESS = {
    DType.F16: (DType.F32, DType.F64),
    DType.BF16: (DType.F32, DType.F64),
    DType.F32: (DType.F64,),
    DType.I32: (DType.I64, DType.F64),
    DType.I16: (DType.I32, DType.I64, DType.F32, DType.F64),
    DType.I8: (DType.I16, DType.I32, DType.I64, DType.F16, DType.BF16, DType.F32, DType.F64),
    DType.U8: (DType.I16, DType.I32, DType.I64, DType.F16, DType.BF16, DType.F32, DType.F64),
    DType.BOOL: (
        DType.U8, DType.I8, DType.I16, DType.I32, DType.I64, DType.F16, DType.BF16, DType.F32,
        DType.F64,
    ),
}  # fmt: skip


def is_cast(node: object) -> bool:
    """True for a change of dtype and of nothing else."""
    if not isinstance(node, fx.Node) or operator_name(node) not in {"to", "_to_copy", "type_as"}:
        return False
    kind, old = tensor_type(node), tensor_type(first_tensor(node))
    if kind is None or old is None or argument(node, "layout") not in (None, torch.strided):
        return False
    plain = argument(node, "memory_format") in (None, torch.preserve_format)
    return plain and kind.dtype != old.dtype and kind.strides == old.strides


def lossless_source(node: fx.Node) -> fx.Node | None:
    """For `cast(cast(x, wide), dtype)`: x, if the wide type holds every value of x.

    The outer cast then rounds the same value once. Not from float to integer, where PyTorch leaves
    values out of range undefined for every source type.
    """
    inner = first_tensor(node)
    if inner is None or not is_cast(node) or not is_cast(inner):
        return None
    source = first_tensor(inner)
    kind, wide, mine = tensor_type(source), tensor_type(inner), tensor_type(node)
    if kind is None or wide is None or mine is None:
        return None
    if wide.dtype not in _LOSSLESS.get(kind.dtype, ()):
        return None
    if to_torch(kind.dtype).is_floating_point and not to_torch(mine.dtype).is_floating_point:
        return None
    return source


_ARITHMETIC: dict[str, Callable[[fx.Node], fx.Node | None]] = {
    "mul": _times_one, "multiply": _times_one,
    "div": _divided_by_one, "divide": _divided_by_one, "true_divide": _divided_by_one,
    "floor_divide": _divided_by_one,
    "add": _plus_zero, "sub": _minus_zero, "subtract": _minus_zero,
    "pow": _first_power,
    "bitwise_and": _bitwise_neutral(True), "logical_and": _bitwise_neutral(True),
    "__and__": _bitwise_neutral(True),
    "bitwise_or": _bitwise_neutral(False), "logical_or": _bitwise_neutral(False),
    "__or__": _bitwise_neutral(False), "bitwise_xor": _bitwise_neutral(False),
    "logical_xor": _bitwise_neutral(False),
}  # fmt: skip
_MOVES: dict[str, Callable[[fx.Node], fx.Node | None]] = {
    "clone": _copied, "lift_fresh_copy": _copied, "_to_copy": _copied,
    "repeat": _repeated_once, "tile": _repeated_once,
    "slice": _sliced_whole,
    "transpose": _not_permuted, "permute": _not_permuted, "swapaxes": _not_permuted,
    "swapdims": _not_permuted, "t": _not_permuted, "numpy_T": _not_permuted,
    "mT": _not_permuted, "matrix_H": _not_permuted, "adjoint": _not_permuted,
    "copy": _overwritten, "slice_scatter": _overwritten,
    "cat": _single, "concat": _single, "concatenate": _single,
}  # fmt: skip
