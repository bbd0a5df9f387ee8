"""The operator definition: one class is a `forge::` PyTorch operator as well as an NPUIR opcode."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import torch
from torch._ops import OpOverload

from forge_ugc.errors import InternalError, VerificationError
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.torch_types import empty, type_of
from forge_ugc.plugins import load_plugins

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[object], object]:
        """What type checkers read; Python 3.10 has none of its own."""
        return lambda decorator: decorator


_LIBRARY = torch.library.Library("forge", "DEF")
_REGISTRY: dict[str, type[Op]] = {}
_T = TypeVar("_T", bound="type[Op]")

_SCHEMA_TYPES: dict[object, str] = {
    TensorType: "Tensor",
    TensorType | None: "Tensor?",
    Sequence[TensorType]: "Tensor[]",
    Sequence[TensorType | None]: "Tensor?[]",
    Sequence[TensorType] | None: "Tensor[]?",
    bool: "bool", int: "SymInt", float: "float", str: "str",
    int | None: "SymInt?", float | None: "float?", str | None: "str?",
    tuple[int, ...]: "SymInt[]",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    """Work of one execution: floating-point or integer operations, and bytes read plus written."""

    flops: int
    bytes_moved: int


class Op:
    """An operator of ours. Attributes are dataclass fields, operands the arguments of `infer`.

    A subclass is one file of `forge_ugc/ops/`, decorated with `@op(name)`, and defines
    `infer(self, x: TensorType, ...) -> TensorType` (the type rule; several results as a tuple),
    `eval(self, x: torch.Tensor, ...) -> torch.Tensor` (the meaning, in plain PyTorch) and
    `cost(self, x: TensorType, ...) -> Cost`.
    """

    name: ClassVar[str]
    inplace_operands: ClassVar[tuple[str, ...]] = ()
    """Operands whose memory result 0 may take over if they die here: element i of the result is
    written only after element i of the operand was last read, and both have one type."""
    infer: Callable[..., TensorType | tuple[TensorType, ...]]
    eval: Callable[..., torch.Tensor | tuple[torch.Tensor, ...]]
    cost: Callable[..., Cost]

    @classmethod
    def overload(cls) -> OpOverload:
        """The registered PyTorch operator `torch.ops.forge.<name>.default`."""
        return cast(OpOverload, getattr(torch.ops.forge, cls.name).default)

    def attributes(self) -> dict[str, Any]:
        """Field values by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(cast(Any, self))}


@dataclass_transform(kw_only_default=True, frozen_default=True)
def op(name: str) -> Callable[[_T], _T]:
    """Class decorator: make a frozen dataclass, and register it as opcode and PyTorch operator."""

    def register(cls: _T) -> _T:
        if name in _REGISTRY:
            raise InternalError(f"two operators are called {name!r}")
        built = cast(_T, dataclasses.dataclass(frozen=True, kw_only=True)(cls))
        built.name = name
        _REGISTRY[name] = built
        _register_with_torch(built)
        return built

    return register


def require(condition: bool, why: str) -> None:
    """Type-rule check.

    Raises:
        VerificationError: the condition does not hold.
    """
    if not condition:
        raise VerificationError(why)


def lookup(name: str) -> type[Op] | None:
    """The operator of that name, or None. The first look-up imports every file of the package."""
    load_all()
    return _REGISTRY.get(name)


def registered() -> dict[str, type[Op]]:
    """All operators of ours by name, sorted."""
    load_all()
    return dict(sorted(_REGISTRY.items()))


@lru_cache(maxsize=1)
def load_all() -> None:
    """Import every module of `forge_ugc.ops`, which registers the operators in them."""
    package = importlib.import_module("forge_ugc.ops")
    for module in pkgutil.iter_modules(package.__path__):
        if not module.ispkg:
            importlib.import_module(f"forge_ugc.ops.{module.name}")
    load_plugins()


def _operand_kinds(cls: type[Op]) -> list[tuple[str, str, bool]]:
    """(name, schema type, has default) of each operand, from the annotations of `infer`."""
    hints = typing.get_type_hints(cls.infer)
    signature = inspect.signature(cls.infer)
    rows = []
    for parameter in list(signature.parameters.values())[1:]:
        kind = _SCHEMA_TYPES.get(hints[parameter.name])
        if kind is None:
            raise InternalError(f"{cls.__name__}.infer: no schema type for {parameter}")
        rows.append((parameter.name, kind, parameter.default is not inspect.Parameter.empty))
    return rows


def _schema(cls: type[Op]) -> str:
    parts = [f"{k} {n}{'=None' if d else ''}" for n, k, d in _operand_kinds(cls)]
    fields = dataclasses.fields(cast(Any, cls))
    if fields:
        parts.append("*")
    hints = typing.get_type_hints(cls)
    for field in fields:
        kind = _SCHEMA_TYPES[hints[field.name]]
        default = ""
        if field.default is not dataclasses.MISSING:
            value = field.default
            default = f'="{value}"' if isinstance(value, str) else f"={_literal(value)}"
        parts.append(f"{kind} {field.name}{default}")
    returns = typing.get_type_hints(cls.infer)["return"]
    many = typing.get_origin(returns) is tuple or isinstance(returns, types.UnionType)
    return f"{cls.name}({', '.join(parts)}) -> {'Tensor[]' if many else 'Tensor'}"


def _literal(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _register_with_torch(cls: type[Op]) -> None:
    _LIBRARY.define(_schema(cls))

    def as_types(args: Sequence[Any]) -> list[Any]:
        def convert(value: Any) -> Any:  # noqa: ANN401 - a tensor, a list of them, or None
            if isinstance(value, list | tuple):
                return [convert(item) for item in value]
            return type_of(value) if isinstance(value, torch.Tensor) else value

        return [convert(arg) for arg in args]

    def configured(kwargs: dict[str, Any]) -> Op:
        fixed = {k: tuple(v) if isinstance(v, list) else v for k, v in kwargs.items()}
        return cls(**fixed)

    def kernel(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the signature is the schema's
        me = configured(kwargs)
        got = me.eval(*args)
        want = me.infer(*as_types(args))
        if isinstance(got, tuple | list):
            return [
                _laid_out(g, w)
                for g, w in zip(got, cast(tuple[TensorType, ...], want), strict=True)
            ]
        return _laid_out(got, cast(TensorType, want))

    def meta(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the signature is the schema's
        inferred = configured(kwargs).infer(*as_types(args))
        if isinstance(inferred, tuple):
            return [empty(t, "meta") for t in inferred]
        return empty(inferred, "meta")

    _LIBRARY.impl(cls.name, kernel, "CPU")
    _LIBRARY.impl(cls.name, meta, "Meta")


def _laid_out(tensor: torch.Tensor, kind: TensorType) -> torch.Tensor:
    """The tensor in exactly the memory layout that the type rule promises."""
    if type_of(tensor) == kind:
        return tensor
    out = empty(kind, tensor.device.type)
    require(
        out.shape == tensor.shape and out.dtype == tensor.dtype,
        f"the reference returned {type_of(tensor)} where the type rule says {kind}",
    )
    return out.copy_(tensor)
