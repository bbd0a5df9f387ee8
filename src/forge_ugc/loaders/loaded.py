"""What a loader returns, what it is asked for, and the text interface of tokenizers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

import torch
from torch import nn

from forge_ugc.errors import OptionError


class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that Forge-UGC uses."""

    @property
    def eos_token_id(self) -> int | None:
        """Token that ends a text."""

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""

    def decode(self, token_ids: list[int]) -> str:
        """Text of token ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A module in eval mode with example inputs.

    Attributes:
        args, kwargs: example inputs; token ids are i64[1, tokens].
        tokenizer: None where the source has none that we can build; `description` then says why.
        description: one line: what was loaded, from where, with what weights.
        weights: for a module whose large parameters lie on the meta device, the provider of them
            that `forge_ugc.compile` takes.
    """

    module: nn.Module
    args: tuple[Any, ...]  # Any: the inputs of a user's module
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Tokenizer | None = None
    description: str = ""
    weights: Callable[[str], torch.Tensor] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the caller of `load_model` wants beside the model's name.

    Attributes:
        tokens: length of the example input.
        dtype: element type of floating-point weights; None keeps that of the source (random
            weights: float32).
        seed: of random weights and random example tokens.
        layers: number of layers instead of the model's own; None keeps it.
        empty: leave large random weights unwritten, so that they take no memory.
        lazy: keep large random weights on the meta device, and make each when it is asked for.
        attention: attention implementation of transformers ("sdpa", "eager"); None is its default.
    """

    tokens: int = 128
    dtype: torch.dtype | None = None
    seed: int = 0
    layers: int | None = None
    empty: bool = False
    lazy: bool = False
    attention: str | None = None

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise OptionError(f"tokens is {self.tokens}, expected at least 1")
        if self.layers is not None and self.layers < 1:
            raise OptionError(f"layers is {self.layers}, expected at least 1")

    def refuse(self, source: str, *names: str) -> None:
        """Raise if one of the named wishes was made, which this source cannot meet.

        Raises:
            OptionError: names the option and the source.
        """
        for name in names:
            if getattr(self, name):
                raise OptionError(
                    f"{name}={getattr(self, name)} does not apply to {source}",
                    why="it has weights or inputs of its own",
                    fix=f"leave {name} out, or load a configuration or shape: with random weights",
                )


def need(package: str, what: str) -> ModuleType:
    """Import an optional package.

    Raises:
        OptionError: it is not installed; says which extra brings it.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise OptionError(
            f"{what} needs the package {package!r}",
            why=str(error),
            fix="pip install 'forge-ugc[hf]'",
        ) from error
