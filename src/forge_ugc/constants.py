"""The constants and states of a compiled program, wherever their values are held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch


class ConstantStore(Mapping[str, torch.Tensor]):
    """Tensors by name; what an executable holds in a form of its own is rebuilt when asked for."""

    def __init__(
        self,
        tensors: Mapping[str, torch.Tensor],
        released: Mapping[str, Callable[[], torch.Tensor]],
    ) -> None:
        self._tensors, self._released = tensors, released

    def __getitem__(self, name: str) -> torch.Tensor:
        if name in self._released:
            return self._released[name]()
        return self._tensors[name]

    def is_rebuilt(self, name: str) -> bool:
        """True if every look-up makes a new tensor: use one after another, not all at once."""
        return name in self._released

    def __iter__(self) -> Iterator[str]:
        yield from self._tensors
        yield from self._released

    def __len__(self) -> int:
        return len(self._tensors) + len(self._released)
