"""Which f32 values are read in bf16 alone, and which operators can make them so."""

from __future__ import annotations

import operator

from torch import fx
from torch._ops import OpOverload

from forge_ugc.npuir.types import DType
from forge_ugc.ops.attention import Attention
from forge_ugc.ops.core.schema import is_view
from forge_ugc.ops.gated_linear import GatedLinear
from forge_ugc.ops.linear import Linear
from forge_ugc.ops.merged_linear import MergedLinear
from forge_ugc.ops.rms_norm import RmsNorm
from forge_ugc.ops.rotary import Rotary
from forge_ugc.passes.graph import aten, is_call, node_type, tensor_type

PRODUCTS: tuple[OpOverload, ...] = tuple(
    op.overload() for op in (Linear, MergedLinear, GatedLinear)
)


def is_product(node: fx.Node, *dtypes: DType) -> bool:
    """True for a matrix product whose operands are all of one of these types."""
    if node.target not in PRODUCTS or node.kwargs.get("dtype") is not None:
        return False
    kind = tensor_type(node.args[0])
    return kind is not None and kind.dtype in dtypes


def is_attention(node: fx.Node) -> bool:
    """True for attention over f32."""
    return node.target is Attention.overload() and _first_dtype(node) is DType.F32


def is_rotary(node: fx.Node) -> bool:
    """True for a rotary embedding whose operands are all f32."""
    kinds = [tensor_type(a) for a in node.args[:3]]
    plain = node.target is Rotary.overload() and node.kwargs.get("dtype") is None
    return plain and all(k is not None and k.dtype is DType.F32 for k in kinds)


def is_norm(node: fx.Node) -> bool:
    """True for a normalisation of f32 over the last axis."""
    kind = tensor_type(node)
    if kind is None or kind.dtype is not DType.F32 or _first_dtype(node) is not DType.F32:
        return False
    if node.target is RmsNorm.overload():
        weight = tensor_type(node.args[1]) if len(node.args) > 1 else None
        fits = weight is None or weight.dtype in (DType.F32, DType.BF16)
        return fits and node.kwargs.get("dtype") is None
    over = node.args[1] if is_call(node, aten.layer_norm.default) else None
    return isinstance(over, list | tuple) and len(over) == 1


def is_transparent(node: fx.Node) -> bool:
    """True for what moves values and computes nothing: views, copies, one of several results."""
    if node.target is operator.getitem or is_call(node, aten.clone.default):
        return True
    return isinstance(node.target, OpOverload) and is_view(node.target)


def is_view_of_all(value: fx.Node) -> bool:
    """True for a view or copy that holds all elements of its f32 operand."""
    if value.op != "call_function" or not is_transparent(value):
        return False
    whole, kind = tensor_type(value.args[0]), tensor_type(value)
    if whole is None or kind is None or whole.numel != kind.numel:
        return False
    return whole.dtype is kind.dtype is DType.F32


def narrow_values(graph: fx.Graph, *, products: bool) -> set[fx.Node]:
    """The values that only attention and matrix products over f32 read, through views or rotary.

    Whoever computes such a value may round it to bf16: its readers would do so. The residual of a
    product is read as f32.

    Args:
        products: whether products read bf16.
    """
    found: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.users and all(_reads_bf16(user, node, found, products) for user in node.users):
            found.add(node)
    return found


def _reads_bf16(user: fx.Node, node: fx.Node, narrow: set[fx.Node], products: bool) -> bool:
    if user.op != "call_function":
        return False
    if user.target is operator.getitem or is_transparent(user):
        return user in narrow
    if is_rotary(user):
        return user.args[0] is node and user in narrow and node not in user.args[1:]
    if is_attention(user):
        return node in user.args[:3] and node not in user.args[3:]
    rest = [a for a in user.args[1:] if isinstance(a, fx.Node)]
    return products and is_product(user, DType.F32) and user.args[0] is node and node not in rest


def _first_dtype(node: fx.Node) -> DType | None:
    kind = node_type(node.args[0]) if node.args and isinstance(node.args[0], fx.Node) else None
    return getattr(kind, "dtype", None)
