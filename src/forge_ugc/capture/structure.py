"""The nesting of inputs and outputs: containers with tensors and fixed values at the leaves."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeGuard, cast

import torch
from torch.utils import _pytree as pytree

from forge_ugc.errors import CaptureError

Static = bool | int | float | complex | str | torch.dtype | torch.device | None
_STATIC = (bool, int, float, complex, str, torch.dtype, torch.device, type(None))


@dataclass(frozen=True, slots=True)
class TensorLeaf:
    """The tensor with this number in the flat list."""

    index: int


@dataclass(frozen=True, slots=True)
class StaticLeaf:
    """A value that is fixed at compile time."""

    value: Static


@dataclass(frozen=True, slots=True)
class Container:
    """A list, tuple, mapping, dataclass, named tuple or registered pytree node.

    Attributes:
        kind: list | tuple | dict | namedtuple | dataclass | pytree.
        type_name: `module.Class`, to say which class was meant when it is not at hand.
        keys: one per item; positions for sequences.
        cls: the class, None in a loaded artifact whose class is not at hand.
        context: what the pytree registry wants back for kind `pytree`.
    """

    kind: str
    type_name: str
    keys: tuple[str | int, ...]
    items: tuple[Structure, ...]
    cls: type[Any] | None = None
    context: object = None


Structure = TensorLeaf | StaticLeaf | Container


class Record(OrderedDict[str, Any]):
    """An output class that a loaded artifact knows by name only: a mapping with attributes."""

    type_name: str = ""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any nesting
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(f"{self.type_name or 'Record'} has no field {name!r}") from error


class Flattener:
    """Collects the tensors of nested values; a tensor object met twice keeps its first number."""

    def __init__(self, *, merge: bool) -> None:
        self.tensors: list[torch.Tensor] = []
        self._merge = merge
        self._seen: dict[int, int] = {}

    def walk(self, value: object, path: str) -> Structure:
        """How `value` is nested; `path` names it in errors.

        Raises:
            CaptureError: an object that is neither a container, a tensor nor a plain value.
        """
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, _STATIC):
            return StaticLeaf(value)
        cls = type(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._many("namedtuple", value._fields, value, path, cls)
        if cls in {list, tuple} or is_torch_tuple(cls):
            items, kind = cast(Sequence[object], value), "list" if cls is list else "tuple"
            return self._many(kind, range(len(items)), items, path, cls)
        if dataclasses.is_dataclass(value) and isinstance(value, Mapping):
            return self._many("dataclass", tuple(value), tuple(value.values()), path, cls)
        if cls in pytree.SUPPORTED_NODES and not isinstance(value, Mapping):
            children, context = pytree.SUPPORTED_NODES[cls].flatten_fn(value)
            return self._many("pytree", range(len(children)), children, path, cls, context)
        if dataclasses.is_dataclass(value):
            fields = [f.name for f in dataclasses.fields(value) if f.init]
            return self._many("dataclass", fields, [getattr(value, f) for f in fields], path, cls)
        if isinstance(value, Mapping) and all(isinstance(k, str | int) for k in value):
            return self._many("dict", tuple(value), tuple(value.values()), path, cls)
        if cls.__module__ == "numpy":
            raise CaptureError(
                f"{path} is a numpy.{cls.__qualname__}", fix="convert it with torch.from_numpy"
            )
        raise CaptureError(
            f"{path} is a {cls.__module__}.{cls.__qualname__}, whose tensors cannot be seen",
            fix="pass and return tensors, numbers, None and containers of them (for a transformers "
            "model: use_cache=False), or register the class with torch.utils._pytree",
        )

    def _tensor(self, value: torch.Tensor) -> TensorLeaf:
        number = self._seen.get(id(value)) if self._merge else None
        if number is None:
            number = self._seen[id(value)] = len(self.tensors)
            self.tensors.append(value)
        return TensorLeaf(number)

    def _many(
        self, kind: str, keys: Sequence[Any], items: Sequence[object], path: str,
        cls: type[Any], context: object = None,
    ) -> Container:  # fmt: skip
        walked = tuple(
            self.walk(item, f"{path}.{key}" if isinstance(key, str) else f"{path}[{key}]")
            for key, item in zip(keys, items, strict=True)
        )
        name = f"{cls.__module__}.{cls.__qualname__}"
        return Container(kind, name, tuple(keys), walked, cls, context)


def unflatten(structure: Structure, tensors: Sequence[Any]) -> Any:  # noqa: ANN401 - any nesting
    """Rebuild the nested value around these tensors."""
    if isinstance(structure, TensorLeaf):
        return tensors[structure.index]
    if isinstance(structure, StaticLeaf):
        return structure.value
    items = [unflatten(item, tensors) for item in structure.items]
    cls = structure.cls
    if structure.kind == "list":
        return items
    if structure.kind == "tuple":
        return cls(items) if is_torch_tuple(cls) else tuple(items)
    if structure.kind == "pytree" and cls is not None:
        return pytree.SUPPORTED_NODES[cls].unflatten_fn(items, cast(Any, structure.context))
    named = dict(zip(structure.keys, items, strict=True))
    if structure.kind == "dict" and (cls is None or cls is dict):
        return named
    if structure.kind == "namedtuple" and cls is None:
        return named_tuple(structure.type_name, structure.keys)(*items)
    if cls is None:
        record = Record((str(k), v) for k, v in named.items())
        record.type_name = structure.type_name
        return record
    if structure.kind == "dict":
        return cls(named)
    return cls(**{str(k): v for k, v in named.items()})


@lru_cache(maxsize=256)
def named_tuple(name: str, keys: tuple[str | int, ...]) -> type[Any]:
    """A stand-in for a class of which name and fields are known.

    Raises:
        ValueError: the keys are no names of fields.
    """
    return cast(type[Any], cast(Any, namedtuple)(name.rpartition(".")[2], keys))


def is_torch_tuple(cls: type[Any] | None) -> TypeGuard[type[Any]]:
    """True for torch.Size and for what operators with several results return."""
    return cls is torch.Size or (
        cls is not None and cls.__module__ == "torch.return_types" and issubclass(cls, tuple)
    )


def leaves(structure: Structure, path: str = "") -> Iterator[tuple[str, TensorLeaf | StaticLeaf]]:
    """(path, leaf) of every leaf in order; paths read `past[0].key`."""
    if isinstance(structure, TensorLeaf | StaticLeaf):
        yield path, structure
        return
    for key, item in zip(structure.keys, structure.items, strict=True):
        yield from leaves(item, step(path, key))


def step(path: str, key: str | int) -> str:
    """The path of an item of the container at `path`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key
