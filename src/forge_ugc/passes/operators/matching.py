"""What the rewrites share: reading operands, scalars and casts, and placing the fused operator."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, cast

from torch import fx
from torch._ops import OpOverload, OpOverloadPacket

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import Op
from forge_ugc.passes.base import No
from forge_ugc.passes.graph import (
    aten,
    constant_of,
    emit,
    inherit_source,
    is_call,
    node_type,
    tensor_type,
)
from forge_ugc.passes.replacing import replace

Pair = tuple[object, object]
WIDE = frozenset({DType.F32, DType.F64})
"""Types in which a chain of steps and its fused operator differ by rounding errors only: in bf16
and f16 every step of a chain rounds visibly, where a fused operator rounds once."""


def scalar(value: object) -> float | None:
    """A Python number, or the value of a constant without axes; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    tensor = constant_of(value)
    if tensor is None or tensor.ndim or tensor.device.type == "meta" or tensor.is_complex():
        return None
    return float(tensor.item())


def argument(node: fx.Node, position: int, name: str, default: object = None) -> object:
    """An argument of a call, given by position or by name."""
    if position < len(node.args):
        return node.args[position]
    return cast(object, node.kwargs.get(name, default))


def operands(value: object, *targets: OpOverload | OpOverloadPacket) -> Pair | None:
    """The two operands of an elementwise binary call; None for any other value.

    An addition or subtraction that scales its second operand (`alpha`) is none, nor is a division
    that rounds.
    """
    if not is_call(value, *targets):
        return None
    node = cast(fx.Node, value)
    scaled = argument(node, 2, "alpha", 1) != 1 or node.kwargs.get("rounding_mode") is not None
    if scaled or len(node.args) < 2:
        return None
    return node.args[0], node.args[1]


def with_scalar(
    value: object, *targets: OpOverload | OpOverloadPacket
) -> tuple[fx.Node, float] | None:
    """The node and the number that a commutative binary call combines, in either order."""
    pair = operands(value, *targets)
    for a, b in (pair, pair[::-1]) if pair else ():
        number = scalar(b)
        if number is not None and isinstance(a, fx.Node) and scalar(a) is None:
            return a, number
    return None


def sole_user(node: fx.Node) -> fx.Node | None:
    """The one call that reads the node; None if there are none or several, or it is the output."""
    if len(node.users) != 1:
        return None
    user = next(iter(node.users))
    return user if user.op == "call_function" else None


def other(user: object, known: fx.Node, *targets: OpOverload | OpOverloadPacket) -> object:
    """The operand beside `known` of a commutative binary call; None if it is no such call."""
    pair = operands(user, *targets)
    if pair is None:
        return None
    return pair[1] if pair[0] is known else pair[0]


_CASTS = (aten.to, aten._to_copy, aten.type_as)


def cast_source(value: object) -> fx.Node | None:
    """The input of a call that changes the dtype and nothing else; None for any other value."""
    if not is_call(value, *_CASTS):
        return None
    node = cast(fx.Node, value)
    source = node.args[0]
    before, after = tensor_type(source), tensor_type(node)
    if before is None or after is None or before.dtype == after.dtype:
        return None
    return cast(fx.Node, source)


def last_axis(value: object, rank: int) -> bool:
    """True if a `dim` argument names the last axis alone."""
    dims = list(value) if isinstance(value, list | tuple) else [value]
    return dims in ([-1], [rank - 1])


def fuse(old: fx.Node, op: Op, args: Sequence[object], *, by: str, origin: fx.Node) -> fx.Node | No:
    """Put one operator of ours in the place of `old` and erase what became dead.

    Refuses, with the graph as it was, if the operands break the operator's type rule or the result
    has another shape or dtype than `old`.

    Args:
        old: the last node of the chain, where the operator is inserted.
        args: the operands; absent ones at the end are left out.
        by: the rewrite's name.
        origin: the node whose place in the user's model the operator inherits.
    """
    given = list(args)
    while given and given[-1] is None:
        given.pop()
    try:
        kind = op.infer(*(_type(a) for a in given))
    except VerificationError as error:
        return No(error.what, old)
    if (refusal := _differs(kind, tensor_type(old))) is not None:
        return refusal
    new = emit(old, op, given, by=by, origin=origin, kind=kind)
    replace(old, new)
    return new


def substitute(
    old: fx.Node,
    target: OpOverload,
    args: Sequence[object],
    kwargs: Mapping[str, object] | None = None,
    *,
    kind: TensorType,
    by: str,
) -> fx.Node | No:
    """As `fuse`, for an operator of PyTorch whose result is known to be of type `kind`."""
    if (refusal := _differs(kind, tensor_type(old))) is not None:
        return refusal
    new = emit(old, target, args, kwargs, by=by, origin=old, kind=kind)
    replace(old, new)
    return new


def _differs(kind: object, want: TensorType | None) -> No | None:
    if isinstance(kind, TensorType) and want is not None:
        if (kind.dtype, kind.shape) == (want.dtype, want.shape):
            return None
    return No(f"the fused result would be {kind}, the chain's is {want}")


def _type(value: object) -> Any:  # noqa: ANN401 - a type, None, or a list of them
    if isinstance(value, list | tuple):
        return tuple(_type(item) for item in value)
    return node_type(value) if isinstance(value, fx.Node) else value


def take(source: fx.Node, index: int, anchor: fx.Node) -> fx.Node:
    """Result `index` of an operator with several, read just before `anchor`."""
    with anchor.graph.inserting_before(anchor):
        node = anchor.graph.call_function(operator.getitem, (source, index))
    inherit_source(node, source)
    node.meta["origin"] = source.meta["origin"]
    node.meta["type"] = cast(tuple[TensorType, ...], node_type(source))[index]
    return node
