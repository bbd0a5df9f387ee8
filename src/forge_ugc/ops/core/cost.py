"""Work of one instruction: our operators say it themselves, PyTorch's follow rules by kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from forge_ugc.npuir.instruction import Const, Instruction, Ref, Reg, State
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.op import Cost, lookup
from forge_ugc.ops.core.schema import overload_of

Types = Mapping[Ref, TensorType]


def cost_of(instruction: Instruction, types: Types) -> Cost:
    """Arithmetic, and the bytes of operands read plus results written, each once.

    Views cost nothing. For PyTorch's operators the counts are those of the plain algorithm: two for
    each multiplication with an addition, one an element for elementwise functions, five for a
    softmax, eight for a normalisation. Copies and look-ups have none; of a table they read as much
    as they write.

    Args:
        instruction: with the types of its results.
        types: the type of everything that it reads.
    """
    if instruction.is_view:
        return Cost(0, 0)
    ours = lookup(instruction.opcode) if "." not in instruction.opcode else None
    if ours is not None:
        operands = [_typed(operand, types) for operand in instruction.operands]
        return ours(**dict[str, Any](instruction.attributes)).cost(*operands)
    return _cost_of_aten(instruction, types)


def _typed(operand: object, types: Types) -> Any:  # noqa: ANN401 - mirrors the operand's own structure
    if isinstance(operand, tuple):
        return [_typed(item, types) for item in operand]
    return types[operand] if isinstance(operand, Reg | Const | State) else operand


def _cost_of_aten(instruction: Instruction, types: Types) -> Cost:
    overload = overload_of(instruction.opcode)
    name = overload._opname
    read = [types[ref] for ref in instruction.refs()]
    written = [result.type for result in instruction.results]
    once = [types[ref] for ref in dict.fromkeys(instruction.refs())]
    moved = sum(kind.size_bytes for kind in [*once, *written])
    if name in _PRODUCTS:
        return Cost(_PRODUCTS[name](read, written), moved)
    if name in _LOOK_UPS:
        indices = sum(kind.size_bytes for kind in read[1:] if not kind.dtype.is_float)
        return Cost(0, indices + 2 * sum(kind.size_bytes for kind in written))
    if name in _PER_ELEMENT:
        return Cost(_PER_ELEMENT[name] * max(k.numel for k in [*read, *written]), moved)
    counts = torch.Tag.pointwise in overload.tags and name not in _COPIES
    return Cost(sum(kind.numel for kind in written) if counts else 0, moved)


def _product(read: Sequence[TensorType], written: Sequence[TensorType]) -> int:
    """Of the last two operands, as in addmm: the depth is the last axis of the first of them."""
    return 2 * written[0].numel * read[-2].shape[-1]


def _linear(read: Sequence[TensorType], written: Sequence[TensorType]) -> int:
    return 2 * written[0].numel * read[0].shape[-1]


def _convolution(read: Sequence[TensorType], written: Sequence[TensorType]) -> int:
    """Every output sums over one filter: weight[out, in / groups, ...]."""
    return 2 * written[0].numel * math.prod(read[1].shape[1:])


def _attention(read: Sequence[TensorType], written: Sequence[TensorType]) -> int:
    q, k, v = read[:3] if len(read) >= 3 else (read[0],) * 3
    return 2 * math.prod(q.shape[:-1]) * k.shape[-2] * (q.shape[-1] + v.shape[-1])


_PRODUCTS: Mapping[str, Callable[[Sequence[TensorType], Sequence[TensorType]], int]] = {
    "mm": _product, "bmm": _product, "matmul": _product, "addmm": _product, "baddbmm": _product,
    "mv": _product, "dot": _product, "linear": _linear, "convolution": _convolution,
    "conv1d": _convolution, "conv2d": _convolution, "scaled_dot_product_attention": _attention,
}  # fmt: skip
_PER_ELEMENT = {
    "softmax": 5, "_softmax": 5, "log_softmax": 5, "_log_softmax": 5, "logsumexp": 4,
    "layer_norm": 8, "native_layer_norm": 8, "rms_norm": 4, "native_group_norm": 8,
    "group_norm": 8, "batch_norm": 4, "var": 4, "std": 4, "var_mean": 4, "gelu": 8, "silu": 4,
    "sum": 1, "mean": 1, "amax": 1, "amin": 1, "max": 1, "min": 1, "argmax": 1, "argmin": 1,
    "prod": 1, "any": 1, "all": 1, "cumsum": 1,
}  # fmt: skip
_LOOK_UPS = frozenset({
    "embedding", "index", "index_select", "gather", "slice", "select", "narrow", "take_along_dim",
})  # fmt: skip
_COPIES = frozenset({"_to_copy", "clone", "copy", "where", "fill", "masked_fill"})
