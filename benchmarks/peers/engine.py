"""What an engine is, and how one is found."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, TypeVar

import torch

from benchmarks.peers.workload import Workload

_REGISTRY: dict[str, type[Engine]] = {}
_T = TypeVar("_T", bound="type[Engine]")


class CannotBuildError(Exception):
    """The engine does not offer what was asked for; the text says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A model that is ready to run.

    Attributes:
        call: computes everything once, in the way that costs this engine least. What it returns may
            be overwritten by the next call.
        output: of one call, as a tensor of floating-point numbers.
        details: what is worth recording, as JSON: how it really computes, sizes.
    """

    call: Callable[[], object]
    output: Callable[[], torch.Tensor]
    details: dict[str, object] = field(default_factory=dict)


class Engine(ABC):
    """An engine: one file of `benchmarks/peers/engines/`, decorated with `@engine(name)`.

    Attributes:
        packages: distributions whose versions are recorded.
    """

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ("torch",)

    @abstractmethod
    def build(self, workload: Workload, precision: str, threads: int) -> Built:
        """Make the model ready to run with that many threads.

        Raises:
            CannotBuildError: this engine has no such precision.
        """


def engine(name: str) -> Callable[[_T], _T]:
    """Class decorator that registers an engine under its name."""

    def register(cls: _T) -> _T:
        if name in _REGISTRY:
            raise ValueError(f"two engines are called {name!r}")
        cls.name = name
        _REGISTRY[name] = cls
        return cls

    return register


@lru_cache(maxsize=1)
def registered() -> dict[str, type[Engine]]:
    """All engines by name. Their packages are imported only where one is built."""
    package = importlib.import_module("benchmarks.peers.engines")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_REGISTRY.items()))


def find(spec: str) -> Engine:
    """The engine of a name, or of `module:Class` for one that is kept elsewhere."""
    module, colon, name = spec.partition(":")
    if colon:
        cls: type[Engine] = getattr(importlib.import_module(module), name)
        return cls()
    if spec not in registered():
        raise CannotBuildError(
            f"no engine is called {spec!r}; choose from {', '.join(registered())}"
        )
    return registered()[spec]()


def require_precision(name: str, precision: str, offered: tuple[str, ...]) -> None:
    """Refuse a precision that is not offered.

    Raises:
        CannotBuildError: says which are.
    """
    if precision not in offered:
        raise CannotBuildError(f"{name} is measured in {', '.join(offered)}, not in {precision}")
