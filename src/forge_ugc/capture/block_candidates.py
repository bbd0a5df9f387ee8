"""Blocks of module lists that may be copies of one another, found before the model runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType

from torch import nn
from torch.nn.modules import module as nn_module

from forge_ugc.capture.block_report import TracedBlock
from forge_ugc.capture.block_signature import (
    Signature,
    attribute_signature,
    first_difference,
    integers_of,
    sets_globals,
    storages_of,
    tensor_signature,
)

_GLOBAL_HOOKS = (
    "_global_forward_hooks", "_global_forward_pre_hooks",
    "_global_backward_hooks", "_global_backward_pre_hooks",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """A block that has at least one equal beside it.

    Attributes:
        path: in the module that is captured.
        group: number of the blocks that are equal before the model runs.
        indices: places of integers that differ in every block of the group (`attention.layer_idx`).
            A trace serves another block only if it never read them.
    """

    path: str
    module: nn.Module
    group: int
    indices: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    path: str
    module: nn.Module
    signature: Signature
    integers: Mapping[str, int]


def find_blocks(root: nn.Module) -> tuple[list[Block], list[TracedBlock]]:
    """Groups of equal blocks, and the blocks beside them that have no equal, with reasons.

    Blocks are children, with children of their own, of one `nn.ModuleList` or `nn.Sequential`.
    Linear in the number of modules and attributes.
    """
    if any(vars(nn_module)[name] for name in _GLOBAL_HOOKS):
        return [], []
    times = Counter(id(m) for _, m in root.named_modules(remove_duplicate=False))
    storages = Counter(storages_of(root))
    blocks: list[Block] = []
    alone: list[TracedBlock] = []
    for path, container in root.named_modules():
        if not isinstance(container, nn.ModuleList | nn.Sequential):
            continue
        by_class: defaultdict[type, list[_Candidate]] = defaultdict(list)
        for name, child in container._modules.items():
            if child is not None and child._modules:
                place = f"{path}.{name}" if path else name
                by_class[type(child)].append(_candidate(place, child))
        for members in by_class.values():
            if len(members) > 1:
                sound = []
                for member in members:
                    reason = _unfit(member.module, times, storages)
                    if reason is None:
                        sound.append(member)
                    else:
                        alone.append(TracedBlock(path=member.path, reason=reason))
                _group(sound, blocks, alone)
    return blocks, alone


def _candidate(path: str, module: nn.Module) -> _Candidate:
    signature = {**attribute_signature(module, type), **{
        f"{place} (tensor)": key for place, key in tensor_signature(module).items()
    }}  # fmt: skip
    return _Candidate(path, module, signature, integers_of(module))


def _unfit(module: nn.Module, times: Counter[int], storages: Counter[int]) -> str | None:
    cls = type(module)
    if times[id(module)] > 1:
        return "the same module object stands in several places"
    if "forward" in vars(module) or not isinstance(cls.forward, FunctionType):
        return "its forward is replaced on the instance"
    if type(cls) is not type:
        return f"{cls.__name__} has a metaclass"
    for child in module.modules():
        if sets_globals(type(child)):
            return f"{type(child).__name__} assigns to a global variable"
    own = Counter(storages_of(module))
    if any(storages[storage] != count for storage, count in own.items()):
        return "it shares a parameter or buffer with another part of the model"
    return None


def _group(members: list[_Candidate], blocks: list[Block], alone: list[TracedBlock]) -> None:
    """Split blocks of one class into equal ones. An integer that differs in all may be an index."""
    without_integers: defaultdict[Hashable, list[_Candidate]] = defaultdict(list)
    for member in members:
        without_integers[_key(member, member.integers)].append(member)
    for bucket in without_integers.values():
        indices = frozenset(
            place
            for place in bucket[0].integers
            if len({m.integers[place] for m in bucket}) == len(bucket) > 1
        )
        equal: defaultdict[Hashable, list[_Candidate]] = defaultdict(list)
        for member in bucket:
            equal[_key(member, indices)].append(member)
        for group in equal.values():
            if len(group) > 1:
                number = len(blocks)
                blocks += [Block(m.path, m.module, number, indices) for m in group]
            else:
                alone.append(TracedBlock(path=group[0].path, reason=_alone(group[0], members)))


def _key(member: _Candidate, without: Iterable[str]) -> Hashable:
    left_out = set(without)
    kept = tuple(
        (place, None if place in left_out else key) for place, key in member.signature.items()
    )
    return kept


def _alone(member: _Candidate, members: list[_Candidate]) -> str:
    other = next((m for m in members if m is not member), None)
    if other is None:
        return "no other block of its list can be compared with it"
    whole, ours = other.signature, member.signature
    place = first_difference(
        {p: key for p, key in whole.items() if p not in other.integers},
        {p: key for p, key in ours.items() if p not in member.integers},
    ) or first_difference(whole, ours)
    return f"it differs from {other.path} in {place}"
