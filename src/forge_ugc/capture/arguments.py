"""The call of a module from arguments by name, and the checks before it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from torch import nn

from forge_ugc.capture.signature import Parameter
from forge_ugc.errors import CaptureError


def check_call(module: object, args: object, kwargs: object) -> None:
    """Check what `compile` was given.

    Raises:
        CaptureError: not a module, or arguments that are no tuple and no dict.
    """
    if not isinstance(module, nn.Module):
        raise CaptureError(
            f"compile takes an nn.Module, this is a {type(module).__name__}",
            fix="put a function into the forward of a module; of an ExportedProgram take .module()",
        )
    if not isinstance(args, tuple | list):
        raise CaptureError(
            f"args is a {type(args).__name__}, expected a tuple of the positional arguments",
            fix="write compile(module, (x,)), and pass named arguments as kwargs={...}",
        )
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise CaptureError(
            f"kwargs is a {type(kwargs).__name__}, expected a dict of the named arguments"
        )


def check_required(forward: Callable[..., object], bound: Mapping[str, object]) -> None:
    """Check that every argument without a default is there.

    Raises:
        CaptureError: names the first one that is missing.
    """
    try:
        parameters = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):  # written in C: the call itself will tell
        return
    for p in parameters:
        required = p.default is p.empty and not p.kind.name.startswith("VAR_")
        if required and p.name not in bound:
            raise CaptureError(
                f"argument {p.name!r} of the model's forward is missing",
                fix=f"add it to args, or to kwargs as {p.name!r}",
            )


def caller(parameters: Sequence[Parameter]) -> Callable[[nn.Module, object], object]:
    """Calls a module by position up to the first argument left out, by name from there."""

    def call(module: nn.Module, bound: object) -> object:
        positional: list[object] = []
        named = dict(cast(Mapping[str, Any], bound))
        gap = False
        for p in parameters:
            if p.name not in named:
                gap = True
                continue
            if p.kind == "VAR_POSITIONAL":
                positional.extend(named.pop(p.name))
            elif p.kind == "VAR_KEYWORD":
                named.update(named.pop(p.name))
            elif p.kind.startswith("POSITIONAL") and not gap:
                positional.append(named.pop(p.name))
        return module(*positional, **named)

    return call
