"""Subclasses that stand in for a module's class while it is traced."""

from __future__ import annotations

import types
from collections.abc import Mapping

from torch import nn


class _Quiet:
    """Comes first among the bases, so that no base is told of the new subclass."""

    def __init_subclass__(cls) -> None:
        """Do nothing: a base's own might register the class, or wrap its methods."""


def quiet_subclass(cls: type[nn.Module], body: Mapping[str, object]) -> type[nn.Module]:
    """A subclass of the same name and layout; its instances may be of `cls` before and after."""
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, **body}
    bases = (cls,) if issubclass(cls, _Quiet) else (_Quiet, cls)
    return types.new_class(cls.__name__, bases, {}, lambda space: space.update(names))
