"""Rotary position embedding of the heads of 128 tokens."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from forge_ugc.profiling.bench.case import Case, Fields, cases


@cases("rotary")
def rotary() -> Iterator[Case]:
    """Halves turned against each other, float32."""
    for heads, size in ((32, 64), (32, 128)):
        yield Case(
            shape=f"{heads} heads 128x{size}", flops=3 * heads * 128 * size,
            bytes_moved=4 * (2 * heads + 2) * 128 * size, precision="f32",
            fields=lambda isa, shape=(heads, 128, size): _fields(*shape),  # type: ignore[misc]
        )  # fmt: skip


def _fields(heads: int, length: int, size: int) -> Fields:
    return {
        "x": torch.randn(heads, length, size), "x_type": 0, "x_strides": [0, length * size, size],
        "cos": torch.randn(length, size), "cos_strides": [0, 0, size],
        "sin": torch.randn(length, size), "sin_strides": [0, 0, size], "table_type": 0,
        "table": 0, "pairs": 0, "out": torch.empty(heads, length, size), "out_type": 0,
        "out_strides": [0, length * size, size], "sizes": [1, heads, length], "dim": size,
        "turned": size,
    }  # fmt: skip
