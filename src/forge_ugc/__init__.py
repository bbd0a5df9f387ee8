"""Forge-UGC compiles transformers from PyTorch for heterogeneous accelerators, in the open."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forge_ugc.compiler import CompiledModel, compile, load
    from forge_ugc.errors import ForgeError
    from forge_ugc.inspection import devices, explain
    from forge_ugc.options import Options
    from forge_ugc.result import CompilationResult

__version__ = "0.1.0"
__all__ = [
    "CompilationResult",
    "CompiledModel",
    "ForgeError",
    "Options",
    "compile",
    "devices",
    "explain",
    "load",
]

_HOME = {
    "CompilationResult": "forge_ugc.result",
    "CompiledModel": "forge_ugc.compiler",
    "ForgeError": "forge_ugc.errors",
    "Options": "forge_ugc.options",
    "compile": "forge_ugc.compiler",
    "devices": "forge_ugc.inspection",
    "explain": "forge_ugc.inspection",
    "load": "forge_ugc.compiler",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the public name stands for
    """Import on first use: `import forge_ugc` itself loads neither torch nor a backend."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'forge_ugc' has no attribute {name!r}")
