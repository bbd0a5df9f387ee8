"""The functions of elementwise expressions, each with its meaning in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the expression language.

    Attributes:
        operands: how many of the arguments are expressions; they come first.
        call: the meaning, on tensors (PyTorch's own scalars in their place stay scalars).
        constants: how many numbers follow.
    """

    operands: int
    call: Callable[..., torch.Tensor]
    constants: int = 0


def _cast(dtype: torch.dtype) -> Function:
    return Function(1, lambda x: x.to(dtype))


def _scaled_add(x: Any, y: Any, alpha: float) -> torch.Tensor:  # noqa: ANN401 - a tensor or a number
    return torch.add(x, y, alpha=alpha)


FUNCTIONS: Mapping[str, Function] = MappingProxyType({
    "abs": Function(1, torch.abs),
    "add": Function(2, torch.add),
    "bf16": _cast(torch.bfloat16),
    "bitwise_and": Function(2, torch.bitwise_and),
    "bitwise_not": Function(1, torch.bitwise_not),
    "bitwise_or": Function(2, torch.bitwise_or),
    "bitwise_xor": Function(2, torch.bitwise_xor),
    "bool": _cast(torch.bool),
    "ceil": Function(1, torch.ceil),
    "clamp": Function(1, torch.clamp, 2),
    "clamp_max": Function(1, torch.clamp_max, 1),
    "clamp_min": Function(1, torch.clamp_min, 1),
    "cos": Function(1, torch.cos),
    "div": Function(2, torch.div),
    "eq": Function(2, torch.eq),
    "erf": Function(1, torch.erf),
    "exp": Function(1, torch.exp),
    "expm1": Function(1, torch.expm1),
    "f16": _cast(torch.float16),
    "f32": _cast(torch.float32),
    "f64": _cast(torch.float64),
    "floor": Function(1, torch.floor),
    "ge": Function(2, torch.ge),
    "gelu": Function(1, F.gelu),
    "gelu_tanh": Function(1, lambda x: F.gelu(x, approximate="tanh")),
    "gt": Function(2, torch.gt),
    "i32": _cast(torch.int32),
    "i64": _cast(torch.int64),
    "isnan": Function(1, torch.isnan),
    "le": Function(2, torch.le),
    "log": Function(1, torch.log),
    "log1p": Function(1, torch.log1p),
    "logical_and": Function(2, torch.logical_and),
    "logical_not": Function(1, torch.logical_not),
    "logical_or": Function(2, torch.logical_or),
    "lt": Function(2, torch.lt),
    "maximum": Function(2, torch.maximum),
    "minimum": Function(2, torch.minimum),
    "mul": Function(2, torch.mul),
    "ne": Function(2, torch.ne),
    "neg": Function(1, torch.neg),
    "pow": Function(1, torch.pow, 1),
    "reciprocal": Function(1, torch.reciprocal),
    "relu": Function(1, torch.relu),
    "round": Function(1, torch.round),
    "rsqrt": Function(1, torch.rsqrt),
    "scaled_add": Function(2, _scaled_add, 1),
    "sigmoid": Function(1, torch.sigmoid),
    "sign": Function(1, torch.sign),
    "silu": Function(1, F.silu),
    "sin": Function(1, torch.sin),
    "sqrt": Function(1, torch.sqrt),
    "square": Function(1, torch.square),
    "sub": Function(2, torch.sub),
    "tanh": Function(1, torch.tanh),
    "trunc": Function(1, torch.trunc),
    "where": Function(3, torch.where),
})  # fmt: skip
"""By name. `scaled_add(x, y, n)` is x + n y, rounded once or twice; `round` goes to even."""
