"""What an engine is, and how one is found."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, TypeVar

import torch

from forge_ugc.evaluation.peers.workload import Workload

_REGISTRY: dict[str, type[Engine]] = {}
_T = TypeVar("_T", bound="type[Engine]")


class CannotBuildError(Exception):
    """The engine does not offer what was asked for; the text says what is missing."""


class Phases:
    """Seconds of the phases of a build: `export`, `convert`, `compile`, `first call`.

    Export is from the module to the program that the engine reads, convert from there to its own
    form, compile from there to what can be called. An engine that makes its first call while it
    builds times it here; of others the worker times it.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count what happens inside for a phase."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A model that is ready to run.

    Attributes:
        call: computes everything once, in the way that costs this engine least. What it returns may
            be overwritten by the next call.
        output: of one call, as a tensor of floating-point numbers.
        details: what is worth recording, as JSON: how it really computes, sizes.
        phases: seconds by phase, see `Phases`.
        artifact_bytes: size of what the engine can keep on disk and load without PyTorch; None if
            it has no such thing.
    """

    call: Callable[[], object]
    output: Callable[[], torch.Tensor]
    details: dict[str, object] = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)
    artifact_bytes: Callable[[], int] | None = None


class Engine(ABC):
    """An engine: one file of `evaluation/peers/engines/`, decorated with `@engine(name)`.

    Attributes:
        packages: distributions whose versions are recorded.
        needs: modules that must be importable, beside PyTorch.
    """

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ("torch",)
    needs: ClassVar[tuple[str, ...]] = ()

    def missing(self) -> tuple[str, ...]:
        """Those of its modules that are not installed. Imports nothing."""
        return tuple(name for name in self.needs if importlib.util.find_spec(name) is None)

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
    package = importlib.import_module("forge_ugc.evaluation.peers.engines")
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
