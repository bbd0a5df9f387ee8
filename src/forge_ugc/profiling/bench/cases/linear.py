"""Matrix products with packed weights: prefill of 128 tokens and decoding of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from forge_ugc import _native, native
from forge_ugc.profiling.bench.case import Case, Fields, cases

# Depth and columns: GPT-2's layers, a large feed-forward layer, GPT-2's vocabulary.
SHAPES = ((768, 2304), (768, 768), (768, 3072), (3072, 768), (2048, 8192), (768, 50257))
ROWS = (128, 1)


@cases("linear_f32")
def linear_f32() -> Iterator[Case]:
    """float32."""
    return _products("f32", 4, lambda *shape: lambda isa: _floats(isa, torch.float32, *shape))


@cases("linear_bf16")
def linear_bf16() -> Iterator[Case]:
    """bfloat16, results in float32."""
    return _products("bf16", 2, lambda *shape: lambda isa: _floats(isa, torch.bfloat16, *shape))


@cases("linear_i8")
def linear_i8() -> Iterator[Case]:
    """8-bit integers, results in float32."""
    return _products("i8", 1, lambda *shape: lambda isa: _quantized(isa, *shape))


@cases("linear_pack_f32")
def linear_pack_f32() -> Iterator[Case]:
    """One weight, as it lies in Linear and in a transposed layout."""
    return _packing("f32", torch.float32)


@cases("linear_pack_bf16")
def linear_pack_bf16() -> Iterator[Case]:
    """One weight of bfloat16, and of float32."""
    yield from _packing("bf16", torch.bfloat16)
    yield from _packing("bf16", torch.float32, note=" from f32")


@cases("linear_pack_i8")
def linear_pack_i8() -> Iterator[Case]:
    """One weight of 8-bit integers."""
    return _packing("i8", torch.int8)


def _products(
    precision: str, size: int, fields: Callable[[int, int, int], Callable[[str], Fields]]
) -> Iterator[Case]:
    for rows in ROWS:
        for depth, columns in SHAPES:
            yield Case(
                shape=f"{rows}x{depth}x{columns}", flops=2 * rows * depth * columns,
                bytes_moved=size * (depth * columns + rows * depth) + 4 * rows * columns,
                precision=precision, fields=fields(rows, depth, columns), cold=("w",),
            )  # fmt: skip


def _packing(precision: str, dtype: torch.dtype, *, note: str = "") -> Iterator[Case]:
    columns, depth = 3072, 768
    packed_size = 2 if precision == "bf16" else dtype.itemsize
    for transposed in (False, True):

        def fields(isa: str, *, transposed: bool = transposed) -> Fields:
            made = _pack_fields(weight_of(dtype, columns, depth), precision)
            strides = {"row_stride": 1, "depth_stride": columns}
            return {**made, **strides} if transposed else made

        yield Case(
            shape=f"{columns}x{depth}{' transposed' if transposed else ''}{note}", flops=0,
            bytes_moved=columns * depth * (dtype.itemsize + packed_size),
            precision=precision, cold=("w", "packed"), fields=fields,
        )  # fmt: skip


def weight_of(dtype: torch.dtype, columns: int, depth: int) -> torch.Tensor:
    """Random numbers."""
    if dtype == torch.int8:
        return torch.randint(-127, 128, (columns, depth), dtype=torch.int8)
    return torch.randn(columns, depth).to(dtype)


def _pack_fields(weight: torch.Tensor, precision: str) -> dict[str, object]:
    columns, depth = weight.shape
    dtype = torch.bfloat16 if precision == "bf16" else weight.dtype
    size = native.linear_packed_bytes(dtype.itemsize, columns, depth)
    fields = {
        "w": weight, "row_stride": depth, "depth_stride": 1, "rows": columns, "depth": depth,
        "packed": _native.allocate(size).view(dtype), "first_column": 0, "columns": columns,
    }  # fmt: skip
    if precision == "bf16":
        fields["source_type"] = int(weight.dtype == torch.bfloat16)
    return fields


def packed_fields(isa: str, kernel: str, weight: torch.Tensor) -> dict[str, Any]:
    """The fields of a packing that has been done."""
    fields: dict[str, Any] = _pack_fields(weight, kernel.removeprefix("linear_pack_"))
    native.run_kernel(kernel, isa=isa, **fields)
    return fields


def _floats(isa: str, dtype: torch.dtype, rows: int, depth: int, columns: int) -> Fields:
    kernel = "linear_pack_f32" if dtype == torch.float32 else "linear_pack_bf16"
    packed = packed_fields(isa, kernel, weight_of(dtype, columns, depth))["packed"]
    return {
        "x": torch.randn(rows, depth).to(dtype), "x_stride": depth, "w": [packed],
        **_common(rows, depth, columns),
    }  # fmt: skip


def _quantized(isa: str, rows: int, depth: int, columns: int) -> Fields:
    packed = packed_fields(isa, "linear_pack_i8", weight_of(torch.int8, columns, depth))["packed"]
    return {
        "x": weight_of(torch.int8, rows, depth), "x_stride": depth, "x_scale": torch.ones(rows),
        "w": [packed], "w_scale": [torch.ones(columns)],
        **_common(rows, depth, columns),
    }  # fmt: skip


def _common(rows: int, depth: int, columns: int) -> dict[str, object]:
    """Fields of all three: a bias, and a result in float32."""
    return {
        "rows": rows, "depth": depth, "parts": 1, "columns": [columns],
        "bias": [torch.zeros(columns)], "bias_type": 0, "activation": 0, "scale": 1.0,
        "residual": None, "residual_stride": 0, "residual_type": 0,
        "out": [torch.empty(rows, columns)], "out_stride": [columns], "out_type": 0,
    }  # fmt: skip
