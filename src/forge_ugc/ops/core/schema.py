"""The bridge between PyTorch operator schemas and NPUIR operands with attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import torch
from torch._ops import OpOverload

from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.npuir.instruction import Attribute, Operand, Symbol
from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.core.torch_types import from_torch, to_torch

_FORMATS = {
    "contiguous_format": torch.contiguous_format,
    "preserve_format": torch.preserve_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}
_FORMAT_NAMES = {value: key for key, value in _FORMATS.items()}
_DTYPES = {d.value: to_torch(d) for d in DType}


@lru_cache(maxsize=4096)
def opcode_of(overload: OpOverload) -> str:
    """`aten.add.Tensor` for a PyTorch operator, the bare name for one of ours."""
    if overload.namespace == "forge":
        return overload._opname
    return f"{overload.namespace}.{overload._opname}.{overload._overloadname}"


# TorchScript's own operators (`aten.save`, `prim.Print`) resolve too, but have no kernel in
# the dispatcher; this one has, and opens a file.
_REACH_OUTSIDE = frozenset({"aten.from_file.default", "aten.from_file.out"})


@lru_cache(maxsize=4096)
def overload_of(opcode: str) -> OpOverload:
    """The PyTorch operator of an opcode. Looks names up and imports nothing but our operators.

    Raises:
        UnsupportedOperatorError: no such operator is registered in this process, or it does more
            than compute tensors (text from elsewhere must not be able to write files).
    """
    if "." not in opcode:
        load_all()
    parts = opcode.split(".") if "." in opcode else ["forge", opcode, "default"]
    try:
        namespace, name, variant = parts
        torch._C._get_schema(f"{namespace}::{name}", "" if variant == "default" else variant)
        found = getattr(getattr(getattr(torch.ops, namespace), name), variant)
    except (ValueError, RuntimeError, AttributeError) as error:
        raise UnsupportedOperatorError(
            f"no operator is registered under the opcode {opcode!r}",
            fix="import the Python package that registers it before loading the program",
        ) from error
    if not torch._C._dispatch_has_kernel(found._name) or opcode in _REACH_OUTSIDE:
        raise UnsupportedOperatorError(
            f"the operator {opcode!r} may not stand in a program",
            why="it reaches beyond tensors, to files or the interpreter",
        )
    return cast(OpOverload, found)


@lru_cache(maxsize=4096)
def parameters(overload: OpOverload) -> tuple[tuple[str, str, Any, bool], ...]:
    """(name, schema type, default or None, has default) of every argument, in schema order."""
    return tuple(
        (
            a.name,
            str(a.real_type),
            a.default_value,
            a.has_default_value() or str(a.type).startswith("Optional"),
        )
        for a in overload._schema.arguments
    )


def holds_tensors(kind: str) -> bool:
    """True for the schema types whose values become operands."""
    return "Tensor" in kind


def bind(
    overload: OpOverload,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    operand: Callable[[Any], Operand],
) -> tuple[tuple[Operand, ...], dict[str, Attribute]]:
    """Split a call into operands and attributes.

    Args:
        overload: the operator called.
        args: positional arguments; `kwargs`: the named ones.
        operand: turns one tensor-typed argument (a node, number, list of nodes) into an operand.

    Returns:
        Operands in schema order without trailing `none`, and the attributes that differ from the
        schema's defaults.
    """
    operands: list[Operand] = []
    attributes: dict[str, Attribute] = {}
    for position, (name, kind, default, _) in enumerate(parameters(overload)):
        value = args[position] if position < len(args) else kwargs.get(name, default)
        if holds_tensors(kind):
            operands.append(None if value is None else operand(value))
        elif value != default or type(value) is not type(default):
            encoded = to_attribute(value)
            if encoded != to_attribute(default):
                attributes[name] = encoded
    while operands and operands[-1] is None:
        operands.pop()
    return tuple(operands), attributes


def unbind(
    overload: OpOverload, operands: Sequence[Any], attributes: Mapping[str, Attribute]
) -> tuple[list[Any], dict[str, Any]]:
    """The inverse of `bind`: (args, kwargs) for a call; operands are passed on as they are.

    Raises:
        UnsupportedOperatorError: an operand is missing or an attribute has no such name.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    rest = list(operands)
    unknown = set(attributes)
    for argument, (name, kind, default, has_default) in zip(
        overload._schema.arguments, parameters(overload), strict=True
    ):
        unknown.discard(name)
        if holds_tensors(kind):
            value = rest.pop(0) if rest else None
            if isinstance(value, tuple):
                value = list(value)
            if value is None and not has_default:
                _refuse(overload, f"operand {name!r} is missing")
        elif name in attributes:
            value = from_attribute(attributes[name], kind)
        elif has_default:
            value = default
        else:
            _refuse(overload, f"attribute {name!r} is missing")
        if argument.kwarg_only:
            kwargs[name] = value
        else:
            args.append(value)
    if rest:
        _refuse(overload, f"{len(rest)} operands too many")
    if unknown:
        _refuse(overload, f"no attribute is called {sorted(unknown)[0]!r}")
    return args, kwargs


def _refuse(overload: OpOverload, why: str) -> None:
    raise UnsupportedOperatorError(
        f"{opcode_of(overload)} cannot be called: {why}", why=f"its schema is {overload._schema}"
    )


def to_attribute(value: Any) -> Attribute:  # noqa: ANN401 - the edge to untyped PyTorch values
    """Encode a non-tensor argument of a PyTorch call.

    Raises:
        UnsupportedOperatorError: the value has no NPUIR form (a symbolic integer, a generator).
    """
    if value is None or isinstance(value, bool | int | float | str | Symbol):
        return value
    if isinstance(value, torch.dtype):
        return Symbol(from_torch(value).value)
    if isinstance(value, torch.memory_format):
        return Symbol(_FORMAT_NAMES[value])
    if isinstance(value, torch.device):
        return Symbol(str(value))
    if isinstance(value, torch.layout):
        return Symbol(str(value).removeprefix("torch."))
    if isinstance(value, list | tuple):
        return tuple(to_attribute(item) for item in value)
    raise UnsupportedOperatorError(
        f"an argument of type {type(value).__name__} has no NPUIR form: {value!r}",
        fix="compile with fixed sizes, and pass tensors instead of generators or complex numbers",
    )


def from_attribute(value: Attribute, kind: str) -> Any:  # noqa: ANN401 - the edge to untyped PyTorch values
    """Decode an attribute for a schema argument of type `kind`."""
    if isinstance(value, tuple):
        return [from_attribute(item, kind) for item in value]
    if not isinstance(value, Symbol):
        return value
    if value.name in _DTYPES:
        return _DTYPES[value.name]
    if value.name in _FORMATS:
        return _FORMATS[value.name]
    if value.name in {"strided", "sparse_coo"}:
        return getattr(torch, value.name)
    return torch.device(value.name)


@lru_cache(maxsize=4096)
def is_view(overload: OpOverload) -> bool:
    """True if every result is always a view of the first tensor argument (`transpose`, `slice`).

    Operators that may or may not copy (`reshape`, `contiguous`, `to`) are not views: the layout
    pass resolves them to a view or to a copy.
    """
    if overload.namespace != "aten" or overload._opname in MAYBE_VIEWS:
        return False
    returns = overload._schema.returns
    return bool(returns) and all(
        r.alias_info is not None and not r.alias_info.is_write for r in returns
    )


MAYBE_VIEWS = frozenset({
    "reshape", "contiguous", "to", "flatten", "type_as", "expand_as_copy", "matrix_H", "ravel",
    "reshape_as", "float", "cpu", "unflatten", "_reshape_alias", "resolve_conj", "resolve_neg",
})  # fmt: skip


@lru_cache(maxsize=4096)
def is_mutable(overload: OpOverload) -> bool:
    """True if the operator writes to one of its arguments."""
    return bool(overload._schema.is_mutable)


def is_random(overload: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True if a call draws random numbers; dropout that is switched off does not."""
    if torch.Tag.nondeterministic_seeded not in overload.tags:
        return False
    switches = {"p": 0.0, "dropout_p": 0.0, "dropout": 0.0, "train": False, "training": False}
    for position, (name, _, default, _) in enumerate(parameters(overload)):
        value = args[position] if position < len(args) else kwargs.get(name, default)
        if name in switches and value == switches[name]:
            return False
    return True


def has_effect(overload: OpOverload) -> bool:
    """True if a call matters beyond its results: it writes, or returns nothing (an assertion)."""
    return is_mutable(overload) or not overload._schema.returns
