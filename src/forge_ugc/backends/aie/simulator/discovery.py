"""What a graph holds: its constructors run in a program in which kernels are stubs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_ugc.backends.aie.simulator.diagnostics import shown
from forge_ugc.backends.aie.simulator.parsing import Fields, read_document
from forge_ugc.backends.aie.simulator.toolchain import Cache, CompilerError, Toolchain, digest
from forge_ugc.errors import OptionError, SimulationError

TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEntry:
    """One kernel instance, in the order of creation.

    Attributes:
        symbol: linker name of its function or method; empty if the graph's file defines a lambda
            or the like.
        place: "file:line" of kernel::create.
    """

    source: str
    symbol: str
    initialization: str
    place: str


class Discovery:
    """Finds the kernels of a compiled graph."""

    def __init__(self, toolchain: Toolchain, cache: Cache, runtime: Sequence[Path]) -> None:
        self.toolchain, self.cache, self.runtime = toolchain, cache, runtime

    def kernels(self, graph: Path) -> tuple[KernelEntry, ...]:
        """The kernels that the constructors of a graph's object create.

        Raises:
            SimulationError: the constructors fail, or use what the simulator does not know.
        """
        name = digest(graph.name, *(part.name for part in self.runtime)) + ".kernels"
        known = self.cache.path(name)
        if not known.exists():
            entries = self._discover(graph)
            made = self.cache.temporary(".kernels")
            made.write_text(json.dumps(entries), encoding="utf-8")
            self.cache.keep(made, name)
        listed = json.loads(known.read_text(encoding="utf-8"))
        return tuple(
            KernelEntry(source=source, symbol=symbol, initialization=init, place=place)
            for source, symbol, init, place in listed
        )

    def _discover(self, graph: Path) -> list[tuple[str, str, str, str]]:
        program = self.cache.temporary(".discovery")
        stubs, result = self.cache.temporary(".s"), self.cache.temporary(".json")
        try:
            stubs.write_text(_stubs(self._undefined(graph, program)), encoding="utf-8")
            self.toolchain.run(
                "g++", "-no-pie", graph, *self.runtime, stubs, "-o", program,
                "-Wl,--allow-multiple-definition",
            )  # fmt: skip
            found = self._run(program, result)
            symbols = defined_symbols(self.toolchain, program)
        finally:
            for path in (program, stubs, result):
                path.unlink(missing_ok=True)
        by_address = {address: name for name, (_, address) in symbols.items()}
        return [
            (k.get("source", str), by_address.get(k.get("function", int), ""),
             k.get("initialization", str), _place(k))
            for k in found.items("kernels")
        ]  # fmt: skip

    def _undefined(self, graph: Path, program: Path) -> list[str]:
        """Symbols that the graph needs of its kernels' sources."""
        command = ["g++", "-no-pie", graph, *self.runtime, "-o", program,
                   "-Wl,--no-demangle,--warn-unresolved-symbols"]  # fmt: skip
        done = subprocess.run(
            [self.toolchain.paths["g++"], *map(str, command[1:])],
            capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        if done.returncode != 0:
            raise CompilerError([str(part) for part in command], done.stderr)
        return sorted(set(re.findall(r"undefined reference to [`']([^']+)'", done.stderr)))

    def _run(self, program: Path, result: Path) -> Fields:
        environment = {**os.environ, "AIESIM_DISCOVER": "1", "AIESIM_RESULT": str(result)}
        try:
            done = subprocess.run(
                [str(program)], capture_output=True, text=True, check=False, env=environment,
                timeout=TIMEOUT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise SimulationError(
                "the constructors of the graph did not end", why=f"stopped after {TIMEOUT_S} s"
            ) from error
        found = read_document(result)
        if found is None:
            raise SimulationError(
                "the constructors of the graph crashed", why=done.stderr.strip()[-2000:]
            )
        if found.get("status", str) != "discovered":
            file, line = found.get("file", str), found.get("line", int)
            raise SimulationError(
                "the graph cannot be constructed", where=f"{shown(file)}:{line}" if file else "",
                why=found.get("what", str),
            )  # fmt: skip
        return found


def _place(fields: Fields) -> str:
    file = fields.get("file", str)
    return f"{shown(file)}:{fields.get('line', int)}" if file else ""


def _stubs(names: list[str]) -> str:
    """Assembly that gives each name an address of its own."""
    lines = [".text"]
    for name in names:
        lines += [f'.globl "{name}"', f'.type "{name}", @function', f'"{name}":', ".fill 16,1,0xcc"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def defined_symbols(toolchain: Toolchain, path: Path) -> dict[str, tuple[str, int]]:
    """Type letter (of nm) and address of every external symbol that a file defines."""
    found = {}
    for line in toolchain.run("nm", "--defined-only", "--extern-only", path).splitlines():
        address, kind, name = line.split(maxsplit=2)
        found[name] = (kind, int(address, 16))
    return found


def find_source(name: str, folders: list[Path], entry: KernelEntry) -> Path:
    """The file that `source(k) = name` means.

    Raises:
        OptionError: it is in none of the folders.
    """
    given = Path(name)
    if given.is_absolute() and given.is_file():
        return given
    for folder in folders:
        path = folder / given
        if path.is_file():
            return path.resolve()
    raise OptionError(
        f"the kernel source {name} was not found", where=entry.place,
        why="it is in none of " + ", ".join(shown(str(folder)) for folder in folders),
        fix="give its folder with include_dirs or -I",
    )  # fmt: skip
