"""Constants by storage: tied weights become one constant, parts of a weight become views of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from forge_ugc.npuir.instruction import Const, ViewOf
from forge_ugc.npuir.program import ConstDecl
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.torch_types import type_of


@dataclass(frozen=True, slots=True)
class ConstantTable:
    """Declarations in order, the tensor of each that owns memory, and each tensor's name."""

    declarations: tuple[ConstDecl, ...]
    tensors: Mapping[str, torch.Tensor]
    name_of: Mapping[int, str]
    """By `id` of the tensor that was passed in."""


def build_table(named: Sequence[tuple[str, torch.Tensor]]) -> ConstantTable:
    """Resolve tensors by storage, offset, strides and dtype.

    Tensors of one storage: the largest dense one that spans all others owns the memory; where none
    does, an owner `<name>.storage` over the used bytes is added. Linear in the number of tensors.
    """
    groups: dict[int, list[tuple[str, torch.Tensor]]] = {}
    for name, tensor in named:
        groups.setdefault(tensor.untyped_storage()._cdata, []).append((name, tensor))
    declarations: list[ConstDecl] = []
    tensors: dict[str, torch.Tensor] = {}
    name_of: dict[int, str] = {}
    for group in groups.values():
        _resolve(group, declarations, tensors, name_of)
    return ConstantTable(tuple(declarations), tensors, name_of)


def unique_names(named: list[tuple[str, torch.Tensor]]) -> list[tuple[str, torch.Tensor]]:
    """Give equal names of different tensors a number; keep each tensor object once."""
    taken: set[str] = set()
    seen: set[int] = set()
    rows = []
    for name, tensor in named:
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        unique, suffix = name, 0
        while unique in taken:
            suffix += 1
            unique = f"{name}#{suffix}"
        taken.add(unique)
        rows.append((unique, tensor))
    return rows


def _start(tensor: torch.Tensor) -> int:
    return int(tensor.storage_offset()) * tensor.element_size()


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    start = _start(tensor)
    return start, start + type_of(tensor).size_bytes


def _resolve(
    group: list[tuple[str, torch.Tensor]],
    declarations: list[ConstDecl],
    tensors: dict[str, torch.Tensor],
    name_of: dict[int, str],
) -> None:
    spans = [_span(t) for _, t in group]
    low, high = min(s[0] for s in spans), max(s[1] for s in spans)
    owner = next(
        (
            (name, tensor)
            for (name, tensor), span in zip(group, spans, strict=True)
            if span == (low, high) and type_of(tensor).is_dense and _aligned(group, low)
        ),
        None,
    )
    if owner is None:
        name, first = group[0]
        low -= low % 16
        owner = (f"{name}.storage", _bytes_of(first, low, high))
    base_name, base = owner
    declarations.append(ConstDecl(base_name, type_of(base)))
    tensors[base_name] = base
    known = {_key(base): base_name}
    for name, tensor in group:
        key = _key(tensor)
        if key not in known:
            offset = _start(tensor) - low
            declarations.append(ConstDecl(name, type_of(tensor), ViewOf(Const(base_name), offset)))
            known[key] = name
        name_of[id(tensor)] = known[key]


def _aligned(group: list[tuple[str, torch.Tensor]], low: int) -> bool:
    return all((_start(t) - low) % t.element_size() == 0 for _, t in group)


def _bytes_of(tensor: torch.Tensor, low: int, high: int) -> torch.Tensor:
    view = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return view.set_(tensor.untyped_storage(), low, (high - low,), (1,))


def _key(tensor: torch.Tensor) -> tuple[int, TensorType]:
    return _start(tensor), type_of(tensor)
