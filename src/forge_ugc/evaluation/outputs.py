"""The tensors of a model's output, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import torch


def named_tensors(output: object, name: str = "output") -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in nested containers with its path: `logits`, `output[0]`, `a.b[1]`.

    A field of the outermost mapping or dataclass goes by its own name.
    """
    if isinstance(output, torch.Tensor):
        yield name, output
        return
    items: Mapping[str, object] | None = None
    if isinstance(output, Mapping):
        items = {str(key): value for key, value in output.items()}
    elif dataclasses.is_dataclass(output) and not isinstance(output, type):
        items = {f.name: getattr(output, f.name) for f in dataclasses.fields(output)}
    if items is not None:
        for key, value in items.items():
            yield from named_tensors(value, key if name == "output" else f"{name}.{key}")
    elif isinstance(output, list | tuple):
        for index, value in enumerate(output):
            yield from named_tensors(value, f"{name}[{index}]")
