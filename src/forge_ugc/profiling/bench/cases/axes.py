"""Reductions along an axis and the places of extrema: adjacent elements, and columns."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from forge_ugc.profiling.bench.case import Case, Fields, cases

# Outer, count, inner.
SHAPES = ((128, 768, 1), (1, 128, 768))


@cases("reduce")
def reduce() -> Iterator[Case]:
    """Sums."""
    for shape in SHAPES:
        yield _case(shape, {"reduction": 0, "out_type": 0})


@cases("arg_reduce")
def arg_reduce() -> Iterator[Case]:
    """The next tokens of a batch, and the same along columns."""
    for shape in ((8, 50257, 1), SHAPES[1]):
        yield _case(shape, {"extremum": 0, "values": None, "value_strides": [0, 0]})


def _case(shape: tuple[int, int, int], rest: Fields) -> Case:
    outer, count, inner = shape
    places = "extremum" in rest

    def fields(isa: str) -> Fields:
        out = torch.empty(outer, inner, dtype=torch.int64 if places else torch.float32)
        written = {"indices": out, "index_strides": [inner, 1]} if places else {
            "out": out, "out_strides": [inner, 1],
        }  # fmt: skip
        return {
            "x": torch.randn(shape), "x_type": 0, "x_strides": [count * inner, inner, 1],
            "outer": outer, "count": count, "inner": inner, **written, **rest,
        }  # fmt: skip

    moved = 4 * outer * count * inner + (8 if places else 4) * outer * inner
    return Case(
        shape="x".join(map(str, shape)), flops=outer * count * inner, bytes_moved=moved,
        precision="f32", fields=fields,
    )  # fmt: skip
