"""Watches whether code reads certain attributes of a module."""

from __future__ import annotations

from collections import defaultdict
from types import TracebackType
from typing import Any

from torch import nn

from forge_ugc.capture.block_signature import caller_is_torch
from forge_ugc.capture.quiet_subclass import quiet_subclass

_BODY = frozenset({"__getattribute__", "__module__", "__qualname__", "__doc__"})


class IndexReads:
    """While entered, notes every read of the given places in a module, also by `vars(module)`.

    Also notes what is written to the classes of these modules.

    The classes of the modules that hold them are replaced by subclasses meanwhile.

    Attributes:
        places: those that were read, in order.
        written: names of class attributes.
    """

    def __init__(self, block: nn.Module, places: frozenset[str]) -> None:
        self.places: list[str] = []
        self.written: list[str] = []
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        for place in places:
            path, _, name = place.rpartition(".")
            self._names[path].add(name)
        self._block = block
        self._classes: list[tuple[nn.Module, type[nn.Module]]] = []

    def __enter__(self) -> IndexReads:
        for path, names in sorted(self._names.items()):
            module = self._block.get_submodule(path)
            cls = type(module)
            self._classes.append((module, cls))
            module.__class__ = self._watching(cls, path, frozenset(names))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        while self._classes:
            module, cls = self._classes.pop()
            self.written += sorted(set(vars(type(module))) - _BODY)
            module.__class__ = cls

    def _watching(self, cls: type[nn.Module], path: str, names: frozenset[str]) -> type[nn.Module]:
        noted = self.places

        def __getattribute__(module: nn.Module, name: str) -> Any:  # noqa: ANN401 - any attribute
            if name in names:
                noted.append(f"{path}.{name}" if path else name)
            elif name == "__dict__" and not caller_is_torch():
                noted.append(f"{path}.__dict__" if path else "__dict__")
            return super(made, module).__getattribute__(name)

        made = quiet_subclass(cls, {"__getattribute__": __getattribute__})
        return made
