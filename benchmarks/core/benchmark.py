"""The benchmark interface: what a benchmark is, how it is found, how it is asked to run."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, TypeVar

from benchmarks.core.measurement import Measurement

_REGISTRY: dict[str, type[Benchmark]] = {}
_T = TypeVar("_T", bound="type[Benchmark]")


class SkippedError(Exception):
    """A benchmark cannot run here; the text says why and what would change that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to run.

    Attributes:
        quick: few repeats and small sizes, to try a benchmark; the figures mean nothing.
        say: takes a line of progress.
        layers: number of layers instead of the models' own, to try a benchmark.
        models, precisions: only these, where a benchmark has several; empty for all.
    """

    quick: bool
    say: Callable[[str], None]
    layers: int | None = None
    models: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()

    def pick(self, full: int, quick: int) -> int:
        """A number of repeats, lines or layers."""
        return quick if self.quick else full

    def choose(self, models: tuple[str, ...]) -> tuple[str, ...]:
        """Those models that were asked for; `gpt2` asks for `shape:gpt2` too."""
        return tuple(
            model
            for model in models
            if not self.models or {model, model.removeprefix("shape:")} & set(self.models)
        )

    def choose_precisions(self, precisions: tuple[str, ...]) -> tuple[str, ...]:
        """Those precisions that were asked for."""
        return tuple(p for p in precisions if not self.precisions or p in self.precisions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Bars for the page of results, from one table of a benchmark.

    Attributes:
        metrics: the columns to draw, in order; lines without a number are left out.
        stacked: True for one bar a subject, made of the metrics, in one chart for each text before
            the comma in the subjects; False for one bar a metric in a group for each subject, on a
            logarithmic axis.
    """

    table: str
    metrics: tuple[str, ...]
    stacked: bool = False


class Benchmark(ABC):
    """A benchmark: one file of `benchmarks/`, decorated with `@benchmark(name)`.

    The class docstring is the introduction of its section in RESULTS.md.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    charts: ClassVar[tuple[Chart, ...]] = ()

    @abstractmethod
    def run(self, settings: Settings) -> Iterable[Measurement]:
        """Measure.

        Raises:
            SkippedError: something that it needs is not there.
        """


def benchmark(name: str) -> Callable[[_T], _T]:
    """Class decorator that registers a benchmark under its command-line name."""

    def register(cls: _T) -> _T:
        if name in _REGISTRY:
            raise ValueError(f"two benchmarks are called {name!r}")
        cls.name = name
        _REGISTRY[name] = cls
        return cls

    return register


@lru_cache(maxsize=1)
def registered() -> dict[str, type[Benchmark]]:
    """All benchmarks by name. The first look-up imports every file of `benchmarks`."""
    package = importlib.import_module("benchmarks")
    for module in pkgutil.iter_modules(package.__path__):
        if not module.ispkg and not module.name.startswith("__"):
            importlib.import_module(f"benchmarks.{module.name}")
    return dict(sorted(_REGISTRY.items()))
