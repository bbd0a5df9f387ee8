"""RMS normalisation written by hand or by PyTorch's own operator."""

from __future__ import annotations

from typing import cast

import torch
from torch import fx

from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.torch_types import from_torch, to_torch
from forge_ugc.ops.rms_norm import RmsNorm
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import aten, tensor_type
from forge_ugc.passes.operators import norm_root
from forge_ugc.passes.operators.matching import (
    WIDE,
    argument,
    cast_source,
    fuse,
    other,
    sole_user,
    with_scalar,
)

_HALF = frozenset({DType.BF16, DType.F16})


class RmsNormChain(Rewrite):
    """mul(w, x * rsqrt(mean(x ** 2, -1) + eps))  ->  rms_norm(x, w), with the casts around it.

    Casts of a bf16 or f16 input to f32 and back are part of the operator, and so is a 1 that is
    added to the weight (Gemma). Where the weight does not fit, the operator goes without.
    """

    name = "rms-norm"
    tier = 0.4
    anchors = norm_root.ANCHORS

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        root = norm_root.find_root(node)
        if not isinstance(root, norm_root.Root):
            return root
        mean = norm_root.mean_of(root.moment)
        if isinstance(mean, No):
            squared = norm_root.square_of(cast(fx.Node, root.moment.args[0]))
            return mean if squared is not None else None
        x = norm_root.square_of(mean)
        if mean is None or x is None:
            return None
        if not norm_root.same_value(x, root.x):
            return No(f"{root.x.name} is scaled by the norm of {x.name}", root.scaled)
        kind = tensor_type(x)
        if kind is None or kind.dtype not in WIDE:
            return No(f"the chain computes in {kind}, rms_norm in f32", x)
        scaled = tensor_type(root.scaled)
        if scaled is None or (scaled.dtype, scaled.shape) != (kind.dtype, kind.shape):
            return No(f"the scaled value is {scaled}, its square {kind}", x)
        return _fuse_widest(x, root.scaled, root.eps)


def _fuse_widest(x: fx.Node, scaled: fx.Node, eps: float) -> fx.Node | No:
    """Take in as much as fits behind the scaled value: casts and the weight."""
    narrow = cast_source(x)
    source = tensor_type(narrow)
    if source is None or source.dtype not in _HALF or tensor_type(x).dtype is not DType.F32:  # type: ignore[union-attr]
        narrow = None
    last, first_cast = scaled, False
    after = sole_user(scaled)
    if narrow is not None and _casts_to(after, scaled, source.dtype):  # type: ignore[union-attr]
        last, first_cast = cast(fx.Node, after), True
    weighted = sole_user(last)
    weight = _weight(weighted, last, keeps_dtype=narrow is None or not first_cast)
    if weight is None:
        return fuse(last, RmsNorm(eps=eps), (narrow if first_cast else x,),
                    by=RmsNormChain.name, origin=scaled)  # fmt: skip
    last = cast(fx.Node, weighted)
    if first_cast or narrow is None:
        return fuse(last, RmsNorm(eps=eps), (x if narrow is None else narrow, weight),
                    by=RmsNormChain.name, origin=scaled)  # fmt: skip
    after = sole_user(last)
    if not _casts_to(after, last, source.dtype):  # type: ignore[union-attr]
        return fuse(last, RmsNorm(eps=eps), (x, weight), by=RmsNormChain.name, origin=scaled)
    weight, offset = _offset(weight)
    op = RmsNorm(eps=eps, weight_offset=offset, cast_before_weight=False)
    return fuse(cast(fx.Node, after), op, (narrow, weight), by=RmsNormChain.name, origin=scaled)


def _casts_to(node: fx.Node | None, source: fx.Node, dtype: DType) -> bool:
    kind = tensor_type(node)
    return cast_source(node) is source and kind is not None and kind.dtype is dtype


def _weight(user: fx.Node | None, value: fx.Node, *, keeps_dtype: bool) -> fx.Node | None:
    """The factor beside `value`, if it has one element for each of the last axis.

    Args:
        user: the only call that reads `value`.
        keeps_dtype: refuse a weight that promotes the product to another dtype.
    """
    weight = other(user, value, aten.mul.Tensor)
    kind, factor, product = tensor_type(value), tensor_type(weight), tensor_type(user)
    if kind is None or factor is None or product is None or factor.shape != kind.shape[-1:]:
        return None
    promoted = from_torch(torch.promote_types(to_torch(kind.dtype), to_torch(factor.dtype)))
    fits = factor.dtype.is_float and promoted is product.dtype
    return cast(fx.Node, weight) if fits and (promoted is kind.dtype or not keeps_dtype) else None


def _offset(weight: fx.Node) -> tuple[fx.Node, float]:
    """Split (w.float() + 1) into w and 1; the sum is taken in f32."""
    added = with_scalar(weight, aten.add)
    if added is None or tensor_type(weight).dtype is not DType.F32:  # type: ignore[union-attr]
        return weight, 0.0
    source = cast_source(added[0])
    return added[0] if source is None else source, added[1]


class RmsNormOperator(Rewrite):
    """aten.rms_norm over the last axis  ->  rms_norm that rounds once, at the end."""

    name = "aten-rms-norm"
    tier = 0.4
    anchors = (aten.rms_norm.default,)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        x, weight = cast(fx.Node, node.args[0]), argument(node, 2, "weight")
        kind, factor = tensor_type(x), tensor_type(weight)
        over = cast(list[int], argument(node, 1, "normalized_shape"))
        if kind is None or list(over) != list(kind.shape[-1:]):
            return No(f"it normalises over the axes {over}, rms_norm over the last one alone")
        if factor is not None and factor.dtype is not kind.dtype:
            return No(f"the weight is {factor}, the input {kind}")
        eps = argument(node, 3, "eps")
        if eps is None:
            wide = torch.float64 if kind.dtype is DType.F64 else torch.float32
            eps = torch.finfo(wide).eps
        op = RmsNorm(eps=cast(float, eps), cast_before_weight=kind.dtype not in _HALF)
        return fuse(node, op, (x, weight), by=self.name, origin=node)
