"""Errors of the compiler and the linker as messages about the user's code."""

from __future__ import annotations

import os
import re
from pathlib import Path

from forge_ugc.backends.aie.simulator.toolchain import CompilerError
from forge_ugc.errors import SimulationError

INCLUDE = Path(__file__).parent / "include"
_ERROR = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<what>.*)$", re.M)
_LINE = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+:")
_UNKNOWN = re.compile(
    r"'(?P<name>\w+)' (?:is not a member of '(?P<space>[\w:]+)'"
    r"|was not declared in this scope|does not name a type|has not been declared)"
)
_MISSING_FILE = re.compile(r"^(?P<name>\S+): No such file or directory$")
_API_SPACES = ("adf", "aie")
_API_NAME = re.compile(
    r"^(?:readincr|writeincr|window_|chess_|aie_|get_|put_|v\d+\w+$|mac|mul|lmul)"
)


def shown(file: str) -> str:
    """A path as short as it can be: relative to the current folder if it lies below it."""
    path, here = Path(os.path.normpath(file)), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def is_ours(file: str) -> bool:
    """Whether a file belongs to the simulator."""
    return str(INCLUDE) in file or "/aiesim-pch-" in file


def compile_error(error: CompilerError, source: Path) -> SimulationError:
    """What g++ said about a source of the user's, with the user's own line."""
    found = list(_ERROR.finditer(error.text))
    if not found:
        return SimulationError(f"g++ cannot compile {source}", why=error.text.strip()[-2000:])
    first = found[0]
    what, where = first["what"], f"{shown(first['file'])}:{first['line']}"
    if is_ours(first["file"]):
        where = _user_line(error.text[: first.end()]) or shown(str(source))
    unknown = _UNKNOWN.search(what)
    missing = _MISSING_FILE.match(what)
    if missing:
        return SimulationError(
            f"{source.name} includes {missing['name']}, which was not found", where=where,
            why="it is neither part of the simulator nor in the include folders",
            fix="give its folder with include_dirs or -I",
        )  # fmt: skip
    if unknown and (
        (unknown["space"] or "").split("::")[0] in _API_SPACES or _API_NAME.match(unknown["name"])
    ):
        space = f"{unknown['space']}::" if unknown["space"] else ""
        return SimulationError(
            f"the simulator does not know {space}{unknown['name']}", where=where,
            why=f"g++: {what}",
            fix="docs/aie-simulator.md lists what is modelled; "
            "an #ifdef __X86SIM__ branch can stand in for the rest",
        )  # fmt: skip
    more = f" (and {len(found) - 1} more errors)" if len(found) > 1 else ""
    what = what.removeprefix("static assertion failed: ")
    return SimulationError(f"g++ cannot compile {source.name}", where=where, why=what + more)


def _user_line(text: str) -> str:
    """The last line of a chain of instantiations that is not in our headers."""
    for line in reversed(text.splitlines()):
        match = _LINE.match(line)
        if match and not is_ours(match["file"]) and not match["file"].startswith("/usr/"):
            return f"{shown(match['file'])}:{match['line']}"
    return ""


_UNDEFINED = re.compile(r"undefined reference to [`'](?P<name>.+?)'$", re.M)


def link_error(error: CompilerError, graph: Path) -> SimulationError:
    """What the linker said: most often that no source defines something."""
    names = sorted({match["name"] for match in _UNDEFINED.finditer(error.text)})
    if not names:
        return SimulationError(f"the design of {graph} does not link", why=error.text[-2000:])
    return SimulationError(
        f"no source of the design defines {', '.join(names[:5])}", where=shown(str(graph)),
        fix="name the file in source(kernel), or include it in a source that is named",
    )  # fmt: skip
