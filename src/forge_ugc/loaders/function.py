"""Models that a Python function of the user builds."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from torch import nn

from forge_ugc.errors import OptionError
from forge_ugc.loaders.loaded import LoadedModel, Request

_FORMS = "it must return (module, args) or (module, args, kwargs)"


def load(spec: str, request: Request) -> LoadedModel:
    """Call `package.module:function` without arguments; the current folder is importable.

    Raises:
        OptionError: there is no such module or function, or it returns something else.
    """
    request.refuse(f"the function {spec}", "layers", "empty", "lazy", "attention")
    module_name, _, name = spec.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise OptionError(
            f"cannot load the model {spec!r}",
            why=str(error),
            fix="name it package.module:function, importable from the current folder",
        ) from error
    result = found()
    if not (isinstance(result, tuple) and len(result) in (2, 3)):
        raise OptionError(f"{spec} returned {type(result).__name__}", why=_FORMS)
    module, args, kwargs = (*result, {})[:3]
    if not isinstance(module, nn.Module) or not isinstance(args, tuple | list):
        raise OptionError(
            f"{spec} returned ({type(module).__name__}, {type(args).__name__}, ...)", why=_FORMS
        )
    if not isinstance(kwargs, dict):
        raise OptionError(f"{spec} returned kwargs as {type(kwargs).__name__}", why=_FORMS)
    if request.dtype is not None:
        module = module.to(request.dtype)
    return LoadedModel(
        module=module.eval(),
        args=tuple(args),
        kwargs=kwargs,
        description=f"{type(module).__name__} from {spec}",
    )
