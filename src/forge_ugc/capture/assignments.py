"""Buffers that a module replaces (`self.cache = new`) as writes to the buffer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules.module import register_module_buffer_registration_hook

from forge_ugc.errors import CaptureError

Key = tuple[int, str]
"""A buffer: the id of its module, its name there."""


def sharing(module: nn.Module) -> frozenset[Key]:
    """The buffers that share memory with another buffer or with a parameter."""
    held: defaultdict[int, list[Key]] = defaultdict(list)
    for m in module.modules():
        for name, tensor in (*m._buffers.items(), *m._parameters.items()):
            if tensor is not None and tensor.layout == torch.strided:
                held[tensor.untyped_storage()._cdata].append((id(m), name))
    return frozenset(key for keys in held.values() if len(keys) > 1 for key in keys)


class Assignments:
    """The buffers replaced while a module ran, and what they were before."""

    def __init__(self, module: nn.Module, sharing: frozenset[Key]) -> None:
        self._names = {id(m): name for name, m in module.named_modules()}
        self._sharing = sharing
        self._before: dict[Key, tuple[nn.Module, torch.Tensor]] = {}

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note every `module.name = tensor` where `name` is a buffer already."""
        handle = register_module_buffer_registration_hook(self._note)
        try:
            yield
        finally:
            handle.remove()

    def _note(self, module: nn.Module, name: str, value: object) -> None:
        old = module._buffers.get(name)
        if id(module) in self._names and isinstance(old, torch.Tensor) and value is not old:
            self._before.setdefault((id(module), name), (module, old))

    def settle(self, outputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """Write each new value into the old buffer; returns the outputs, safe from these writes.

        Raises:
            CaptureError: a new value has another shape or dtype: a program's states are fixed; or
                the buffer shared its memory with another, which keeps its old value.
        """
        if not self._before:
            return outputs
        outputs = [t.clone() for t in outputs]
        news = [(m, name, old, m._buffers[name]) for (_, name), (m, old) in self._before.items()]
        for module, name, old, new in news:
            module._buffers[name] = old
            path = ".".join(p for p in (self._names[id(module)], name) if p)
            if (id(module), name) in self._sharing:
                raise CaptureError(
                    f"the model replaces its buffer {path}, which shares memory with another",
                    why="a state keeps its memory, so the other would change too (mutation)",
                    fix="give each buffer a tensor of its own",
                )
            if new is None or new.shape != old.shape or new.dtype != old.dtype:
                got = "None" if new is None else f"{new.dtype} {list(new.shape)}"
                raise CaptureError(
                    f"the model replaces its buffer {path}, {old.dtype} {list(old.shape)}, "
                    f"by {got}",
                    why="a state of a program keeps its shape and dtype (mutation of a buffer)",
                    fix="allocate the buffer in its full size and write to a part of it",
                )
        values = [new.clone() for _, _, _, new in news if new is not None]
        for (_, _, old, _), value in zip(news, values, strict=True):
            old.copy_(value)
        return outputs
