"""Chains of elementwise steps: one addition, an activation, a gate."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from forge_ugc.backends.cpu.elementwise_fields import elementwise_fields
from forge_ugc.ops.core.expression import calls, parse
from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.profiling.bench.case import Case, Fields, cases

CODES = {"add": "add(a, b)", "gelu": "gelu(a)", "gate": "mul(silu(a), b)"}
SHAPE = (128, 3072)


@cases("elementwise")
def elementwise() -> Iterator[Case]:
    """float32."""
    for name, code in CODES.items():
        count = 2 if "b" in code.replace("mul(", "") else 1
        flops = calls(parse(code, count)) * SHAPE[0] * SHAPE[1]
        yield Case(
            shape=f"{name} {SHAPE[0]}x{SHAPE[1]}", flops=flops, precision="f32",
            bytes_moved=4 * (count + 1) * SHAPE[0] * SHAPE[1],
            fields=lambda isa, code=code, count=count: _fields(code, count),  # type: ignore[misc]
        )  # fmt: skip


def _fields(code: str, count: int) -> Fields:
    operands = [torch.randn(SHAPE) for _ in range(count)]
    out = torch.empty(SHAPE)
    described = elementwise_fields(parse(code, count), [type_of(o) for o in operands], type_of(out))
    return {**described, "in": operands, "out": out}
