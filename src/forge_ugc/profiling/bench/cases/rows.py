"""Kernels that go through rows: in caches, as between two layers, and out of the main memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from forge_ugc.profiling.bench.case import Case, Fields, cases

# Rows, elements a row, whether they come from the main memory.
SHAPES = ((128, 768, False), (128, 4096, False), (16384, 768, True))


@cases("rms_norm")
def rms_norm() -> Iterator[Case]:
    """With a weight."""
    return _rows(4, lambda x: {**_weighted(x), "weight_offset": 0.0})


@cases("layer_norm")
def layer_norm() -> Iterator[Case]:
    """With weight and bias."""
    return _rows(8, lambda x: {**_weighted(x), "bias": torch.zeros(x.shape[1])})


@cases("softmax")
def softmax() -> Iterator[Case]:
    """Probabilities."""
    return _rows(5, lambda x: {**_through(x), "result": 0})


@cases("quantize_rows")
def quantize_rows() -> Iterator[Case]:
    """Activations."""
    return _rows(4, lambda x: _quantized(x, {"x": x, "x_type": 0, "x_stride": x.shape[1]}), size=1)


@cases("quantize_weights")
def quantize_weights() -> Iterator[Case]:
    """Weights with adjacent elements along the depth."""

    def fields(w: torch.Tensor) -> Fields:
        strides = {"row_stride": w.shape[1], "depth_stride": 1}
        return _quantized(w, {"w": w, "w_type": 0, **strides})

    return _rows(4, fields, size=1, name="w")


def _rows(
    each: int, fields: Callable[[torch.Tensor], Fields], *, size: int = 4, name: str = "x"
) -> Iterator[Case]:
    """Cases of float32 rows.

    Args:
        each: operations an element.
        fields: from the rows.
        size: bytes of an element of the result.
        name: of the argument that holds the rows.
    """
    for rows, dim, cold in SHAPES:
        yield Case(
            shape=f"{rows}x{dim}" + (" cold" if cold else ""), flops=each * rows * dim,
            bytes_moved=(4 + size) * rows * dim, precision="f32",
            fields=lambda isa, shape=(rows, dim): fields(torch.randn(shape)),  # type: ignore[misc]
            cold=(name,) if cold else (),
        )  # fmt: skip


def _through(x: torch.Tensor) -> dict[str, object]:
    rows, dim = x.shape
    return {
        "x": x, "x_type": 0, "x_stride": dim, "out": torch.empty(rows, dim), "out_type": 0,
        "out_stride": dim, "rows": rows, "dim": dim,
    }  # fmt: skip


def _weighted(x: torch.Tensor) -> dict[str, object]:
    return {**_through(x), "w": torch.ones(x.shape[1]), "w_type": 0, "eps": 1e-5}


def _quantized(x: torch.Tensor, source: Fields) -> Fields:
    rows, depth = x.shape
    return {
        **source, "rows": rows, "depth": depth, "q": torch.empty(rows, depth, dtype=torch.int8),
        "q_stride": depth, "scale": torch.empty(rows),
    }  # fmt: skip
