"""Constants whose data comes later: meta tensors in a graph, and who has what they stand for."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import fx

from forge_ugc.errors import InputError
from forge_ugc.ops.core.torch_types import empty, type_of

Provider = Callable[[str], torch.Tensor]
"""The tensor of a parameter or buffer by its name in the module."""
_KEY = "deferred"


class Deferred:
    """What the meta tensors of one graph stand for. Holds no data."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._names: dict[int, tuple[str, torch.Tensor]] = {}

    def add(self, stand_in: torch.Tensor, name: str) -> None:
        """Let this meta tensor, and every view of it, stand for the tensor of that name."""
        self._names[stand_in.untyped_storage()._cdata] = name, stand_in

    def holds(self, tensor: torch.Tensor) -> bool:
        """True for a stand-in or a view of one."""
        return tensor.device.type == "meta" and tensor.untyped_storage()._cdata in self._names

    def load(self, stand_in: torch.Tensor) -> torch.Tensor:
        """All that the stand-in's memory stands for, from the provider; see `view`."""
        name, whole = self._names[stand_in.untyped_storage()._cdata]
        return provided(self._provider, name, whole)

    def attach(self, graph_module: fx.GraphModule) -> None:
        """Let `deferred_of` find this."""
        graph_module.meta[_KEY] = self


def provided(provider: Provider, name: str, like: torch.Tensor) -> torch.Tensor:
    """The provider's tensor of that name, in the layout of the module's own.

    Raises:
        InputError: it is no dense cpu tensor of the module's shape and dtype.
    """
    found = provider(name)
    if not isinstance(found, torch.Tensor) or found.device.type != "cpu":
        shown = found.device if isinstance(found, torch.Tensor) else type(found).__name__
        raise InputError(
            f"the provider of weights returned no cpu tensor for {name!r}", why=f"it is {shown}"
        )
    if (found.shape, found.dtype) != (like.shape, like.dtype):
        raise InputError(
            f"the provider of weights returned {type_of(found)} for {name!r}",
            why=f"the module has {type_of(like)}",
        )
    found = found.detach()
    if type_of(found) == type_of(like) and found.storage_offset() == 0:
        return found
    return empty(type_of(like)).copy_(found)


def view(whole: torch.Tensor, stand_in: torch.Tensor) -> torch.Tensor:
    """The part of a loaded tensor that a stand-in shows."""
    return whole.as_strided(stand_in.shape, stand_in.stride(), stand_in.storage_offset())


def deferred_of(graph_module: fx.GraphModule) -> Deferred | None:
    """The graph's deferred constants, if it has any."""
    found = graph_module.meta.get(_KEY)
    return found if isinstance(found, Deferred) else None


def load_all(graph_module: fx.GraphModule) -> None:
    """Put data in the place of every stand-in that a node still reads, each source once."""
    deferred = deferred_of(graph_module)
    if deferred is None:
        return
    names = {str(node.target) for node in graph_module.graph.find_nodes(op="get_attr")}
    groups: dict[int, list[str]] = {}
    for name in sorted(names):
        tensor = getattr(graph_module, name)
        if deferred.holds(tensor):
            groups.setdefault(tensor.untyped_storage()._cdata, []).append(name)
    for group in groups.values():
        whole = deferred.load(getattr(graph_module, group[0]))
        for name in group:
            setattr(graph_module, name, view(whole, getattr(graph_module, name)))
