"""Programs that torch.export.save wrote."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import torch
from torch import nn

from forge_ugc.errors import ArtifactError, OptionError
from forge_ugc.loaders.loaded import LoadedModel, Request


class ExportedModule(nn.Module):
    """An exported program with the signature that it was exported for.

    An exported program insists on getting each argument the way it was given at export: by
    position or by name. The signature says so, unlike that of the program itself.
    """

    def __init__(self, program: nn.Module, positional: int) -> None:
        super().__init__()
        self.program = program
        found = list(inspect.signature(program.forward).parameters.values())
        by_position, by_name = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
        renamed = [
            p.replace(kind=by_position if index < positional else by_name)
            for index, p in enumerate(found)
        ]

        def forward(*args: object, **kwargs: object) -> Any:  # noqa: ANN401 - what it returns
            return self.program(*args, **kwargs)

        forward.__signature__ = inspect.Signature(renamed)  # type: ignore[attr-defined]
        self.forward = forward


def load(path: Path, request: Request) -> LoadedModel:
    """The program as a module, with the example inputs it was exported with.

    Raises:
        OptionError: no such file, or an option that does not apply.
        ArtifactError: it cannot be read, or holds no example inputs.
    """
    request.refuse(
        f"the exported program {path.name}", "dtype", "layers", "empty", "lazy", "attention"
    )
    path = path.expanduser()
    if not path.is_file():
        raise OptionError(f"there is no file {path}", fix="name an existing .pt2 file")
    try:
        exported = torch.export.load(path)
    except Exception as error:  # a damaged file fails in whatever way it likes
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ArtifactError(
            f"cannot read {path}", why=why, fix="write it with torch.export.save"
        ) from error
    if exported.example_inputs is None:
        raise ArtifactError(f"{path} holds no example inputs", fix="export the model again")
    args, kwargs = exported.example_inputs
    return LoadedModel(
        module=ExportedModule(exported.module(), len(args)),
        args=tuple(args),
        kwargs=dict(kwargs),
        description=f"exported program {path.name}",
    )
