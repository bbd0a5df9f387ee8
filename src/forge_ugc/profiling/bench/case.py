"""What a kernel is measured on: the interface of a case and how cases are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from forge_ugc.errors import InternalError

Fields = Mapping[str, object]
"""Arguments of a kernel by name, as `native.run_kernel` takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kernel on one shape.

    Attributes:
        shape: what tells it from the kernel's other cases.
        flops, bytes_moved: of one run, every operand and result moved once.
        precision: of the arithmetic: f32, bf16 or i8.
        fields: makes the arguments for a variant; called once a measurement.
        cold: names of arguments that each run has a copy of, out of reach of the caches. Without
            any, all data are in caches, and only the arithmetic is held against the machine.
    """

    shape: str
    flops: int
    bytes_moved: int
    precision: str
    fields: Callable[[str], Fields]
    cold: tuple[str, ...] = ()


_REGISTRY: dict[str, Callable[[], Iterable[Case]]] = {}


def cases(
    kernel: str,
) -> Callable[[Callable[[], Iterable[Case]]], Callable[[], Iterable[Case]]]:
    """Function decorator: the cases of that kernel."""

    def register(make: Callable[[], Iterable[Case]]) -> Callable[[], Iterable[Case]]:
        if kernel in _REGISTRY:
            raise InternalError(f"two functions make cases for the kernel {kernel}")
        _REGISTRY[kernel] = make
        return make

    return register


def cases_of(kernel: str) -> tuple[Case, ...]:
    """The cases of a kernel; none if no file has any."""
    _load_all()
    return tuple(_REGISTRY[kernel]()) if kernel in _REGISTRY else ()


@lru_cache(maxsize=1)
def _load_all() -> None:
    package = importlib.import_module("forge_ugc.profiling.bench.cases")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
