"""Constants that are converted when somebody reads them: stand-ins, and what makes their data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import torch
from torch import fx

_KEY = "postponed"


@dataclass(frozen=True, slots=True)
class Conversion:
    """How the data of one constant are made.

    Attributes:
        make: the data, once.
        rounded_from: a wider tensor of the same shape and layout whose elements, rounded to nearest
            even, are the data; None if they are anything else. Who packs may read it instead.
    """

    make: Callable[[], torch.Tensor]
    rounded_from: torch.Tensor | None = None


class Postponed:
    """The conversions of one graph that have not been made.

    A stand-in has the type of the data and lies on the meta device. Without a `Postponed` attached
    to a graph, passes convert at once, and the graph can be run.
    """

    def __init__(self) -> None:
        self._conversions: dict[int, tuple[torch.Tensor, Conversion]] = {}
        self._kept: set[int] = set()

    def may_wait(self, source: torch.Tensor) -> bool:
        """True if the module has the tensor anyway, so that keeping it costs no memory."""
        return _storage(source) in self._kept

    def add(self, stand_in: torch.Tensor, conversion: Conversion) -> None:
        """Let this meta tensor stand for what the conversion makes."""
        self._conversions[_storage(stand_in)] = stand_in, conversion

    def take(self, tensor: torch.Tensor) -> Conversion | None:
        """The conversion of a stand-in, now its reader's; None for any other tensor."""
        found = self._conversions.pop(_storage(tensor), None) if tensor.is_meta else None
        return None if found is None else found[1]

    def attach(self, graph_module: fx.GraphModule) -> None:
        """Let `postponed_of` find this; the graph is as it was captured."""
        for node in graph_module.graph.find_nodes(op="get_attr"):
            if node.meta.get("module_owned"):
                self._kept.add(_storage(getattr(graph_module, str(node.target))))
        graph_module.meta[_KEY] = self


class LateTensors(dict[str, torch.Tensor]):
    """Tensors by name: a look-up makes what a stand-in stands for, and keeps it."""

    def __init__(self, tensors: Mapping[str, torch.Tensor], postponed: Postponed) -> None:
        super().__init__(tensors)
        self.postponed = postponed

    def __getitem__(self, name: str) -> torch.Tensor:
        tensor = super().__getitem__(name)
        conversion = self.postponed.take(tensor)
        if conversion is not None:
            tensor = self[name] = conversion.make()
        return tensor

    def made_but(self, names: Collection[str]) -> dict[str, torch.Tensor]:
        """All tensors, with stand-ins left in the place of those that have these names."""
        get = super().__getitem__
        return {name: get(name) if name in names else self[name] for name in self}


def postponed_of(graph_module: fx.GraphModule) -> Postponed | None:
    """Where conversions of a graph's constants are put off to, if they are."""
    found = graph_module.meta.get(_KEY)
    return found if isinstance(found, Postponed) else None


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
