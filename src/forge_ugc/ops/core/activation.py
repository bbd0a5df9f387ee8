"""Activation functions by the name that operators carry as an attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
import torch.nn.functional as F

from forge_ugc.errors import VerificationError

QUICK_GELU_SLOPE = 1.702


def _identity(x: torch.Tensor) -> torch.Tensor:
    return x


def _gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x, approximate="tanh")


def _quick_gelu(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(QUICK_GELU_SLOPE * x)


ACTIVATIONS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = MappingProxyType({
    "none": _identity,
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": _gelu_tanh,
    "quick_gelu": _quick_gelu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
})  # fmt: skip
"""`gelu` is exact (Gaussian error function), `gelu_tanh` its approximation by tanh (Hendrycks &
Gimpel 2016, section 2), `quick_gelu` x * sigmoid(1.702 x) (OpenAI CLIP)."""


def activate(name: str, x: torch.Tensor) -> torch.Tensor:
    """The activation of that name, applied element by element; x's dtype and shape stay."""
    return ACTIVATIONS[name](x)


def require_activation(name: str) -> None:
    """Type-rule check of an activation attribute.

    Raises:
        VerificationError: no activation has that name.
    """
    if name not in ACTIVATIONS:
        raise VerificationError(
            f"no activation is called {name!r}", fix=f"choose from {', '.join(ACTIVATIONS)}"
        )
