"""Embeddings of 128 tokens, read out of the packed weight of the last layer."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from forge_ugc.profiling.bench.case import Case, Fields, cases
from forge_ugc.profiling.bench.cases.linear import packed_fields, weight_of

ROWS, SIZE, VOCABULARY = 128, 768, 50257


@cases("linear_gather_f32")
def linear_gather_f32() -> Iterator[Case]:
    """float32."""
    yield _case("f32", torch.float32)


@cases("linear_gather_bf16")
def linear_gather_bf16() -> Iterator[Case]:
    """bfloat16 to float32."""
    yield _case("bf16", torch.bfloat16)


@cases("linear_gather_i8")
def linear_gather_i8() -> Iterator[Case]:
    """8-bit integers with a scale for each row, to float32."""
    yield _case("i8", torch.int8)


def _case(precision: str, dtype: torch.dtype) -> Case:
    return Case(
        shape=f"{ROWS} rows of {VOCABULARY}x{SIZE}", flops=0, precision=precision,
        bytes_moved=(dtype.itemsize + 4) * ROWS * SIZE + 8 * ROWS,
        fields=lambda isa: _fields(isa, precision, dtype),
    )  # fmt: skip


def _fields(isa: str, precision: str, dtype: torch.dtype) -> Fields:
    made = packed_fields(isa, f"linear_pack_{precision}", weight_of(dtype, VOCABULARY, SIZE))
    return {
        "packed": made["packed"], "columns": VOCABULARY, "depth": SIZE,
        "scale": torch.ones(VOCABULARY) if dtype == torch.int8 else None,
        "ids": torch.randint(VOCABULARY, (ROWS,)), "ids_stride": 1, "ids_bytes": 8, "rows": ROWS,
        "out": torch.empty(ROWS, SIZE), "out_type": 0, "out_stride": SIZE,
    }  # fmt: skip
