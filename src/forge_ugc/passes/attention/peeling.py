"""Looking through operators that change neither the values nor the last axes of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import fx
from torch._ops import OpOverload, OpOverloadPacket

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.schema import is_random
from forge_ugc.ops.core.torch_types import to_torch
from forge_ugc.passes.graph import aten, constant_of, is_call, tensor_type

COPIES = (aten.clone, aten.contiguous, aten.alias, aten.detach, aten.lift_fresh_copy)
CASTS = (aten.to, aten._to_copy, aten.type_as)
DROPOUTS = (aten.dropout, aten.native_dropout, aten.feature_dropout, aten.alpha_dropout)
VIEWS = (aten.view, aten.reshape, aten._unsafe_view, aten._reshape_alias, aten.unsqueeze,
         aten.squeeze, aten.flatten, aten.unflatten)  # fmt: skip


def typed(node: fx.Node) -> TensorType:
    """The type of a node that is known to be a single tensor."""
    return cast(TensorType, node.meta["type"])


def source_of(node: fx.Node) -> fx.Node:
    """The first argument, as a node."""
    return cast(fx.Node, node.args[0])


def same_values(node: fx.Node) -> bool:
    """True for a copy, dropout that is switched off, and a cast between equal types."""
    if is_call(node, *COPIES):
        return True
    if is_call(node, *DROPOUTS):
        target = cast(OpOverload, node.target)
        return tensor_type(node) is not None and not is_random(target, node.args, node.kwargs)
    return is_call(node, *CASTS) and _from_type(node) == typed(node).dtype


def upcast(node: fx.Node) -> bool:
    """True for a cast between floating-point types that keeps every value."""
    before = _from_type(node) if is_call(node, *CASTS) else None
    after = typed(node).dtype if before is not None else None
    if before is None or after is None or not (before.is_float and after.is_float):
        return False
    return torch.promote_types(to_torch(before), to_torch(after)) == to_torch(after)


def float_cast(node: fx.Node) -> bool:
    """True for a cast between floating-point types, even if it rounds."""
    before = _from_type(node) if is_call(node, *CASTS) else None
    return before is not None and before.is_float and typed(node).dtype.is_float


def _from_type(node: fx.Node):  # type: ignore[no-untyped-def]  # noqa: ANN202
    kind = tensor_type(node.args[0]) if node.args else None
    return None if kind is None else kind.dtype


def keeps_last_two(node: fx.Node) -> bool:
    """True for a view that regroups leading axes only."""
    if not is_call(node, *VIEWS):
        return False
    before, after = tensor_type(node.args[0]), tensor_type(node)
    if before is None or after is None or min(before.rank, after.rank) < 2:
        return False
    return before.shape[-2:] == after.shape[-2:]


def fold_between(view: fx.Node) -> tuple[int, int] | None:
    """(batch, heads) if a view goes between [batch*heads, ...] and [batch, heads, ...]."""
    shapes = sorted((typed(source_of(view)).shape, typed(view).shape), key=len)
    if [len(s) for s in shapes] == [3, 4] and shapes[1][0] * shapes[1][1] == shapes[0][0]:
        return shapes[1][0], shapes[1][1]
    return None


def bare(node: fx.Node) -> fx.Node:
    """What the node copies, through any number of copies."""
    while same_values(node):
        node = source_of(node)
    return node


def number(value: object, most: int = 1) -> float | None:
    """The number that an argument stands for: a Python number or a constant of equal elements.

    Constants of more than `most` elements are not looked into.
    """
    if isinstance(value, bool | int | float):
        return float(value)
    if not isinstance(value, fx.Node):
        return None
    found = constant_of(bare(value))
    if found is None or not 1 <= found.numel() <= most or found.is_complex():
        return None
    first = found[(0,) * found.dim()]
    if found.numel() > 1 and not bool((found == first).all()):
        return None
    return float(first)


def scaling(node: fx.Node) -> tuple[fx.Node, float] | None:
    """(x, factor) if the node is x times a number, x over a number, or -x, in x's own type."""
    found = _scaling(node)
    return found if found is not None and math.isfinite(found[1]) else None


def _scaling(node: fx.Node) -> tuple[fx.Node, float] | None:
    if is_call(node, aten.neg):
        return source_of(node), -1.0
    if not is_call(node, aten.mul, aten.div) or node.kwargs.get("rounding_mode") is not None:
        return None
    left, right = cast(Sequence[object], node.args[:2])
    factor = _multiplier(node, right)
    if factor is not None and isinstance(left, fx.Node) and _same_type(node, left):
        return left, factor
    if is_call(node, aten.mul) and isinstance(right, fx.Node) and _same_type(node, right):
        factor = number(left)
        return None if factor is None else (right, factor)
    return None


def _multiplier(node: fx.Node, value: object) -> float | None:
    factor = number(value)
    if factor is None or is_call(node, aten.mul):
        return factor
    return math.copysign(math.inf, factor) if factor == 0.0 else 1.0 / factor


def _same_type(node: fx.Node, operand: fx.Node) -> bool:
    kind = tensor_type(operand)
    own = typed(node)
    return kind is not None and kind.dtype == own.dtype and kind.shape == own.shape


def called(node: fx.Node) -> str:
    """The operator's plain name, for messages: `tanh`."""
    target = node.target
    packet = target.overloadpacket if isinstance(target, OpOverload) else target
    return packet.__name__ if isinstance(packet, OpOverloadPacket) else str(node.target)
