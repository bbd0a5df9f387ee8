"""Attention over packed heads: prefill, grouped queries, decoding with a long cache."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from forge_ugc.ops.attention import visible_pairs
from forge_ugc.profiling.bench.case import Case, Fields, cases

# Query heads, key heads, queries, keys.
SHAPES = ((12, 12, 128, 128), (32, 8, 128, 128), (12, 12, 1024, 1024), (32, 8, 1, 1024))
SIZE = 64
_UNBOUNDED = 2**62


@cases("attention_f32")
def attention_f32() -> Iterator[Case]:
    """Causal, float32."""
    return _causal("f32", torch.float32)


@cases("attention_bf16")
def attention_bf16() -> Iterator[Case]:
    """Causal, bfloat16."""
    return _causal("bf16", torch.bfloat16)


def _causal(precision: str, dtype: torch.dtype) -> Iterator[Case]:
    for heads, groups, length, keys in SHAPES:
        pairs = visible_pairs(length, keys, None, keys - length)
        moved = 2 * heads * length * SIZE + 2 * groups * keys * SIZE
        yield Case(
            shape=f"{heads}/{groups} heads {length}x{keys}", flops=4 * heads * pairs * SIZE,
            bytes_moved=dtype.itemsize * moved, precision=precision,
            fields=lambda isa, shape=(heads, groups, length, keys): _fields(dtype, *shape),  # type: ignore[misc]
        )  # fmt: skip


def _fields(dtype: torch.dtype, heads: int, groups: int, length: int, keys: int) -> Fields:
    """As a model lays them out: the heads of a position are adjacent."""
    q = torch.randn(1, length, heads, SIZE).to(dtype).transpose(1, 2)
    k, v = (torch.randn(1, keys, groups, SIZE).to(dtype).transpose(1, 2) for _ in range(2))
    out = torch.empty(1, length, heads, SIZE, dtype=dtype).transpose(1, 2)
    made: dict[str, object] = {
        "q": q, "k": k, "v": v, "out": out, "batch": 1, "heads": heads, "groups": groups,
        "length": length, "keys": keys, "size": SIZE, "value_size": SIZE, "scale": SIZE**-0.5,
        "left": _UNBOUNDED, "right": keys - length, "empty_rows": 0, "mask_type": 0,
        "mask_strides": [0, 0, 0, 0],
    }  # fmt: skip
    for name, tensor in (("q", q), ("k", k), ("v", v), ("out", out)):
        made[f"{name}_strides"] = list(tensor.stride()[:3])
    return made | ({"out_type": 1} if dtype == torch.bfloat16 else {})
