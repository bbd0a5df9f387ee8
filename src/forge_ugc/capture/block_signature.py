"""What the forward of a block can read, as values that compare equal for equal blocks."""

from __future__ import annotations

import dis
import functools
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch._ops import OpOverload, OpOverloadPacket

Signature = dict[str, Hashable]
"""By place (`attention.scale`): a key that is equal where a trace cannot tell two values apart."""

_STANDARD = frozenset(vars(nn.Module()))
_HOOKS = tuple(name for name in vars(nn.Module()) if name.endswith("_hooks"))
_SCALARS = (
    bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.layout,
    torch.memory_format,
)  # fmt: skip
_BY_IDENTITY = (type, BuiltinFunctionType, ModuleType, OpOverload, OpOverloadPacket)
_HEAP_TYPE = 1 << 9
_STORE_GLOBAL = dis.opmap["STORE_GLOBAL"]


def tensor_signature(block: nn.Module) -> Signature:
    """Type, layout and sharing of every parameter and buffer. Linear in their number."""
    found: Signature = {}
    storages: dict[int, int] = {}
    for path, module in block.named_modules():
        for kind, store in (("parameter", module._parameters), ("buffer", module._buffers)):
            for name, tensor in store.items():
                place = f"{path}.{name}" if path else name
                if tensor is None:
                    found[place] = (kind, None)
                    continue
                storage = storages.setdefault(_storage(tensor), len(storages))
                found[place] = (
                    kind, type(tensor).__name__, tensor.dtype, tuple(tensor.shape),
                    tensor.stride(), tensor.storage_offset(), tensor.requires_grad,
                    str(tensor.device), str(tensor.layout), storage,
                )  # fmt: skip
    return found


def storages_of(module: nn.Module) -> list[int]:
    """The storage of every parameter and buffer under every name, repeated where it is shared."""
    return [
        _storage(tensor)
        for m in module.modules()
        for tensor in (*m._parameters.values(), *m._buffers.values())
        if tensor is not None and tensor.layout == torch.strided
    ]


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata) if tensor.layout == torch.strided else id(tensor)


def attribute_signature(
    block: nn.Module, class_of: Callable[[nn.Module], type], without: frozenset[str] = frozenset()
) -> Signature:
    """Classes, plain attributes, modes and hooks of a block and its children, as they are now.

    An object that is compared neither by value nor by identity gets a key that equals no other.

    Args:
        class_of: the class of a module before it was replaced for a trace.
        without: places to leave out.
    """
    paths = {id(m): path for path, m in block.named_modules(remove_duplicate=False)}
    keys = _Keys(paths)
    found: Signature = {}
    for path, module in block.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        cls = class_of(module)
        found[f"{prefix}class"] = (cls, module.training, keys.class_state(type(module)))
        for hooks in _HOOKS:
            if vars(module).get(hooks):
                found[f"{prefix}{hooks}"] = ("hooks", Unequal())
        for name, value in vars(module).items():
            if name not in _STANDARD and f"{prefix}{name}" not in without:
                found[f"{prefix}{name}"] = keys.of(value)
    return found


def integers_of(block: nn.Module) -> dict[str, int]:
    """Plain integer attributes by place; one of them may be the block's index."""
    return {
        f"{path}.{name}" if path else name: value
        for path, module in block.named_modules(remove_duplicate=False)
        for name, value in vars(module).items()
        if type(value) is int and name not in _STANDARD
    }


def sets_globals(cls: type) -> bool:
    """True if a method of a user's module class assigns to a global variable."""
    return any(_sets_globals(c) for c in cls.__mro__ if _is_users(c))


@functools.lru_cache(maxsize=4096)
def _sets_globals(cls: type) -> bool:
    functions = [f for f in vars(cls).values() if isinstance(f, FunctionType)]
    return any(_STORE_GLOBAL in f.__code__.co_code[::2] for f in functions)


def _is_users(cls: type) -> bool:
    return issubclass(cls, nn.Module) and not cls.__module__.startswith("torch.nn.")


def first_difference(a: Mapping[str, Hashable], b: Mapping[str, Hashable]) -> str | None:
    """The first place where two signatures differ; None if they are equal."""
    for place in (*a, *(p for p in b if p not in a)):
        if place not in a or place not in b or a[place] != b[place]:
            return place
    return None


class Unequal:
    """A key that equals no other, for what cannot be compared."""

    __slots__ = ()


class _Keys:
    """Keys of attribute values, each object looked at once."""

    def __init__(self, modules: Mapping[int, str]) -> None:
        self._modules = modules
        self._memo: dict[int, Hashable] = {}
        self._kept: list[object] = []
        self._classes: dict[type, Hashable] = {}

    def of(self, value: object) -> Hashable:
        cls = type(value)
        if cls in _SCALARS:
            # By `repr`, which tells -0.0 from 0.0, and under which NaN is itself.
            return (cls, repr(value)) if cls in {float, complex} else (cls, value)
        if isinstance(value, _BY_IDENTITY):
            return ("identity", id(value))
        if isinstance(value, torch.Tensor):
            return ("tensor", id(value))
        if isinstance(value, nn.Module):
            return ("module", self._modules.get(id(value), id(value)))
        if id(value) not in self._memo:
            self._kept.append(value)  # so that no other object gets its id
            self._memo[id(value)] = ("cycle", len(self._memo))
            self._memo[id(value)] = self._compound(value, cls)
        return self._memo[id(value)]

    def class_state(self, cls: type) -> Hashable:
        """Plain numbers and strings in the classes of a module: a counter may be among them."""
        if cls not in self._classes:
            self._classes[cls] = tuple(
                (c, name, value)
                for c in cls.__mro__
                if _is_users(c)
                for name, value in list(vars(c).items())
                if type(value) in {bool, int, float, str} and not name.startswith("__")
            )
        return self._classes[cls]

    def _compound(self, value: Any, cls: type) -> Hashable:  # noqa: ANN401 - any attribute
        if cls in {list, tuple, torch.Size}:
            return (cls, tuple(map(self.of, value)))
        if cls in {dict, OrderedDict}:
            return (cls, tuple((self.of(k), self.of(v)) for k, v in value.items()))
        if cls in {set, frozenset}:
            return (cls, frozenset(map(self.of, value)))
        if isinstance(value, Enum):
            return (cls, value.name)
        if isinstance(value, MethodType):
            return ("method", self.of(value.__self__), self.of(value.__func__))
        if isinstance(value, FunctionType):
            return self._function(value)
        if cls is functools.partial:
            return ("partial", self.of(value.func), self.of(value.args), self.of(value.keywords))
        if _is_plain(cls) and hasattr(value, "__dict__"):
            return (cls, tuple((name, self.of(item)) for name, item in vars(value).items()))
        return Unequal()

    def _function(self, function: FunctionType) -> Hashable:
        try:
            cells = [cell.cell_contents for cell in function.__closure__ or ()]
        except ValueError:  # a variable that has no value yet
            return Unequal()
        defaults = (function.__defaults__, function.__kwdefaults__)
        return ("function", id(function.__code__), self.of(defaults), self.of(cells))


def _is_plain(cls: type) -> bool:
    """True if all state of an instance is in its `__dict__`."""
    classes = (c for c in cls.__mro__ if c not in {object, SimpleNamespace})
    return all(c.__flags__ & _HEAP_TYPE and not vars(c).get("__slots__") for c in classes)


def caller_is_torch(depth: int = 2) -> bool:
    """True if the function that called the caller is part of PyTorch."""
    frame = sys._getframe(depth)
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "torch"
