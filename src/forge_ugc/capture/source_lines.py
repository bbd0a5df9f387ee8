"""Lines of the user's code, for errors: where a node comes from, where an exception was raised."""

from __future__ import annotations

import linecache
import re
import sysconfig
import traceback
from pathlib import Path

import torch
from torch import fx, nn

_HERE = str(Path(__file__).parent)
_TORCH = str(Path(torch.__file__).parent)
_PYTHON = sysconfig.get_path("stdlib")
_INSTALLED = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
"""Often inside of `_PYTHON`; models of other packages lie there, and count as the user's."""
_FRAME = re.compile(r'File "([^"]+)", line (\d+).*\n\s*(.*)')


def source_line(node: fx.Node) -> str:
    """`file.py:41: y = x.item()`: the innermost line that a node comes from; empty if unknown."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    return "{}:{}: {}".format(*frames[-1]) if frames else ""


def failing_line(module: nn.Module, error: BaseException) -> str:
    """`layers.0 (file.py:41: y = x.numpy())`: the innermost submodule and line of an exception.

    Lines of PyTorch, Python and of ours do not count; the exceptions behind this one are looked at
    too.
    """
    names = {id(m): name for name, m in module.named_modules()}
    path, line = "", ""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        for frame, number in traceback.walk_tb(current.__traceback__):
            owner = id(frame.f_locals.get("self"))
            if owner in names:
                path = names[owner] or type(module).__name__
            file = frame.f_code.co_filename
            if _is_the_users(file):
                line = f"{file}:{number}: {linecache.getline(file, number).strip()}"
        current = current.__cause__ or current.__context__
    path = path or type(module).__name__
    return f"{path} ({line})" if line else path


def _is_the_users(file: str) -> bool:
    if file.startswith((_TORCH, _HERE, "<")):
        return False
    return file.startswith(_INSTALLED) or not file.startswith(_PYTHON)
