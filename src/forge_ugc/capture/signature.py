"""The compiled signature: how a call's arguments become the flat list of input tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import torch

from forge_ugc.capture.structure import (
    Container,
    Flattener,
    StaticLeaf,
    Structure,
    TensorLeaf,
    leaves,
    step,
)
from forge_ugc.errors import CaptureError, InputError
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.torch_types import to_torch, type_of


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the module's `forward`; `kind` is inspect's name of its kind.

    `required` says that it has no default, or one that is no plain value.
    """

    name: str
    kind: str
    required: bool
    default: bool | int | float | str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """What a compiled model accepts.

    Attributes:
        parameters: of `forward`, so that a value may come by position or by name.
        structure: nesting of the bound arguments, a dict by parameter name.
        names: path of each flat tensor, for messages.
        types: type of each flat tensor.
    """

    parameters: tuple[Parameter, ...]
    structure: Structure
    names: tuple[str, ...]
    types: tuple[TensorType, ...]

    def describe(self) -> str:
        """`input_ids: i64[1,128], scale=0.5`: every tensor with its type, every fixed value."""
        return _describe(self.structure, [str(t) for t in self.types])

    def flatten(self, args: Sequence[object], kwargs: Mapping[str, object]) -> list[torch.Tensor]:
        """The flat input tensors of a call.

        Raises:
            InputError: an argument is missing, unknown, or differs in structure, fixed value,
                shape or dtype from what was compiled; `why` holds both signatures.
        """
        flattener = Flattener(merge=False)
        try:
            got = flattener.walk(bind(self.parameters, args, kwargs), "argument")
        except (CaptureError, InputError) as error:
            raise InputError(error.what, why=f"compiled for {self.describe()}") from error
        return _Matcher(self, got, flattener.tensors).run()


class _Matcher:
    def __init__(self, want: Signature, got: Structure, tensors: list[torch.Tensor]) -> None:
        self.want, self.got, self.tensors = want, got, tensors
        self.picked: dict[int, torch.Tensor] = {}

    def run(self) -> list[torch.Tensor]:
        self.match(self.want.structure, self.got, "")
        for index, (name, kind) in enumerate(zip(self.want.names, self.want.types, strict=True)):
            self.check(name, kind, self.picked[index])
        return [self.picked[i] for i in range(len(self.want.types))]

    def match(self, want: Structure, got: Structure, path: str) -> None:
        if isinstance(want, TensorLeaf) and isinstance(got, TensorLeaf):
            self.picked[want.index] = self.tensors[got.index]
        elif isinstance(want, StaticLeaf) and isinstance(got, StaticLeaf):
            if not _same_static(want.value, got.value):
                self.refuse(
                    f"argument {path!r} is {got.value!r}, but a constant {want.value!r} in the "
                    "compiled program",
                    "compile again with this value, or make it a tensor",
                )
        elif isinstance(want, Container) and isinstance(got, Container):
            self.match_items(want, got, path)
        else:
            self.refuse(
                f"argument {path!r} is {_kind(got)}; the program was compiled with {_kind(want)}"
            )

    def match_items(self, want: Container, got: Container, path: str) -> None:
        if set(want.keys) != set(got.keys):
            where = f" in {path!r}" if path else ""
            said = [f"argument {k!r}{where} is missing" for k in want.keys if k not in got.keys]
            said += [
                f"argument {k!r}{where} was not there when compiled"
                for k in got.keys
                if k not in want.keys
            ]
            self.refuse("; ".join(said))
        at = dict(zip(got.keys, got.items, strict=True))
        for key, item in zip(want.keys, want.items, strict=True):
            self.match(item, at[key], step(path, key))

    def check(self, name: str, want: TensorType, tensor: torch.Tensor) -> None:
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            self.refuse(
                f"input {name!r} lies on {tensor.device} ({tensor.layout})",
                "move it to the cpu as a dense tensor",
            )
        if tuple(tensor.shape) != want.shape:
            self.refuse(
                f"input {name!r} has another shape than the program was compiled for",
                "pad or cut the input, or compile again with this shape",
            )
        if tensor.dtype != to_torch(want.dtype):
            self.refuse(
                f"input {name!r} has another dtype than the program was compiled for",
                f"cast it with .to({to_torch(want.dtype)})",
            )

    def refuse(self, what: str, fix: str = "") -> NoReturn:
        called = _describe(self.got, [_typed(t) for t in self.tensors])
        raise InputError(
            what,
            why=f"called with {called}; compiled for {self.want.describe()}",
            fix=fix or "call with the compiled signature, or compile again with these arguments",
        )


def parameters_of(forward: Callable[..., object]) -> tuple[Parameter, ...]:
    """The parameters of a `forward`; a catch-all pair where Python cannot tell them."""
    try:
        found = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):
        return (
            Parameter("args", "VAR_POSITIONAL", False),
            Parameter("kwargs", "VAR_KEYWORD", False),
        )
    rows = []
    for p in found:
        empty = p.default is inspect.Parameter.empty
        simple = isinstance(p.default, bool | int | float | str | None)
        variadic = p.kind.name.startswith("VAR_")
        named = not variadic and (empty or not simple)
        rows.append(Parameter(p.name, p.kind.name, named, p.default if simple else None))
    return tuple(rows)


def bind(
    parameters: Sequence[Parameter], args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Arguments by parameter name.

    Those equal to their plain default are left out, unless `*args` follow them.

    Raises:
        InputError: too many positional arguments, a name given twice or unknown to `forward`.
    """
    bound: dict[str, object] = {}
    rest, named = list(args), dict(kwargs)
    spread = len(rest) > sum(p.kind.startswith("POSITIONAL") for p in parameters)
    for p in parameters:
        if p.kind == "VAR_POSITIONAL":
            if rest:
                bound[p.name] = tuple(rest)
            rest = []
        elif p.kind == "VAR_KEYWORD":
            if named:
                bound[p.name] = dict(sorted(named.items()))
            named = {}
        elif rest and p.kind != "KEYWORD_ONLY":
            if p.name in named:
                raise InputError(f"argument {p.name!r} is given twice, by position and by name")
            _keep(bound, p, rest.pop(0), always=spread)
        elif p.name in named:
            _keep(bound, p, named.pop(p.name), always=False)
    if rest:
        plural = "" if len(rest) == 1 else "s"
        raise InputError(f"{len(rest)} positional argument{plural} too many")
    if named:
        raise InputError(f"the model's forward has no argument {sorted(named)[0]!r}")
    return bound


def _keep(bound: dict[str, object], p: Parameter, value: object, *, always: bool) -> None:
    default = not always and not p.required and not isinstance(value, torch.Tensor)
    if not (default and _same_static(value, p.default)):
        bound[p.name] = value


def _same_static(want: object, got: object) -> bool:
    """By `repr`, which tells -0.0 from 0.0, and under which NaN is itself."""
    return type(want) is type(got) and repr(want) == repr(got)


def _typed(tensor: torch.Tensor) -> str:
    return str(type_of(tensor)) if tensor.layout == torch.strided else str(tensor.layout)


def _kind(structure: Structure) -> str:
    if isinstance(structure, TensorLeaf):
        return "a tensor"
    if isinstance(structure, StaticLeaf):
        return f"the constant {structure.value!r}"
    return f"a {structure.kind} of {len(structure.items)}"


def _describe(structure: Structure, types: Sequence[str]) -> str:
    rows = []
    for path, leaf in leaves(structure):
        if isinstance(leaf, TensorLeaf):
            rows.append(f"{path}: {types[leaf.index]}")
        else:
            rows.append(f"{path}={leaf.value!r}")
    return ", ".join(rows) or "no arguments"
