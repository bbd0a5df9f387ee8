"""Kernels that move elements: copies, transposes, rows looked up by index."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from forge_ugc.profiling.bench.case import Case, Fields, cases

ROWS, SIZE, VOCABULARY = 128, 768, 50257


@cases("copy")
def copy() -> Iterator[Case]:
    """A plain copy of float32, and heads put in front of positions."""
    for name, strides in (("rows", (SIZE, 64, 1)), ("heads in front", (64, ROWS * 64, 1))):
        yield Case(
            shape=f"{name} {ROWS}x{SIZE}", flops=0, bytes_moved=8 * ROWS * SIZE, precision="f32",
            fields=lambda isa, strides=strides: _copy_fields(strides),  # type: ignore[misc]
        )  # fmt: skip


@cases("gather")
def gather() -> Iterator[Case]:
    """Embeddings of 128 tokens in a table that no cache holds."""
    yield Case(
        shape=f"{ROWS} rows of {VOCABULARY}x{SIZE}", flops=0, precision="f32",
        bytes_moved=8 * ROWS * SIZE + 8 * ROWS, fields=lambda isa: _gather_fields(),
    )  # fmt: skip


def _copy_fields(out_strides: tuple[int, int, int]) -> Fields:
    """[position, head, element], one of them last in memory."""
    sizes = (ROWS, SIZE // 64, 64)
    return {
        "x": torch.randn(ROWS, SIZE), "x_strides": _padded((SIZE, 64, 1), 0, 6),
        "out": torch.empty(ROWS * SIZE), "out_offset": 0, "out_strides": _padded(out_strides, 0, 6),
        "sizes": _padded(sizes, 1, 6), "element_bytes": 4,
    }  # fmt: skip


def _gather_fields() -> Fields:
    """Two loops: over ids, then over the elements of a row."""
    return {
        "x": torch.randn(VOCABULARY, SIZE), "x_strides": _padded((0, 1), 0, 5),
        "ids": [torch.randint(VOCABULARY, (ROWS,))], "ids_strides": _padded((1, 0), 0, 5),
        "ids_bytes": [8], "axis_strides": [SIZE], "axis_sizes": [VOCABULARY], "indices": 1,
        "from_end": 0, "out": torch.empty(ROWS, SIZE), "out_strides": _padded((SIZE, 1), 0, 5),
        "sizes": _padded((ROWS, SIZE), 1, 5), "element_bytes": 4, "conversion": 0,
    }  # fmt: skip


def _padded(values: tuple[int, ...], filler: int, count: int) -> list[int]:
    """Outer loops of one step before the others."""
    return [filler] * (count - len(values)) + list(values)
