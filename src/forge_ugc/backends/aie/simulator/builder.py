"""From the file of a graph to a program that simulates it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.simulator.diagnostics import INCLUDE, compile_error, link_error
from forge_ugc.backends.aie.simulator.discovery import (
    Discovery,
    KernelEntry,
    defined_symbols,
    find_source,
)
from forge_ugc.backends.aie.simulator.toolchain import (
    Cache,
    CompilerError,
    ObjectCache,
    Toolchain,
    digest,
)
from forge_ugc.errors import OptionError, SimulationError

RUNTIME = Path(__file__).parent / "runtime"
PREFIX_HEADERS = ("adf.h", "aie_api/aie.hpp", "aie_api/aie_adf.hpp")
ARCHITECTURES = {"aie1": 10, "aie-ml": 20}
JOBS = 2
COMMON_FLAGS = (
    # AI Engine code wraps integers, casts pointers as it likes, and rounds each operation.
    "-std=c++20", "-O1", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off",
    # For the lines of reports: tables of lines, and frames that are linked.
    "-g1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-mno-omit-leaf-frame-pointer",
    # The runner makes symbols local, which unique ones refuse; addresses are those of the file.
    "-fno-gnu-unique", "-fno-pie", "-fno-threadsafe-statics",
    "-fmax-errors=5", "-fdiagnostics-color=never", "-w",
)  # fmt: skip
BUSY = ("fiber", "engine", "words", "blocks", "beats", "ports", "kernels", "movers", "plio")
"""Parts of the runtime in which a run spends its time; the others compile faster unoptimised."""
IDLE = ("model", "network", "plio_text", "settings", "host", "result", "main")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A simulator of one graph.

    Attributes:
        path: the executable.
        names: of the kernel instances, in the order of creation.
        sources: absolute path of the source of each; "" where the graph's file defines it.
    """

    path: Path
    names: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to build: the graph's file, folders to search, macros and the device."""

    graph: Path
    include_dirs: tuple[Path, ...]
    defines: tuple[str, ...]
    device: AieDevice

    def folders(self) -> list[Path]:
        """Where sources and headers are looked for, in order."""
        home = self.graph.parent
        found = [*self.include_dirs, home, home.parent, home.parent.parent, Path.cwd()]
        return list(dict.fromkeys(found))

    def own_macros(self) -> tuple[str, ...]:
        """What the simulator and the device define."""
        architecture = ARCHITECTURES[self.device.architecture]
        return (f"__AIE_ARCH__={architecture}", f"__AIEARCH__={architecture}", "__X86SIM__=1",
                "__AIENGINE__=1", "restrict=__restrict")  # fmt: skip

    def flags(self) -> list[str]:
        """Of g++, for the user's files."""
        macros = (*self.own_macros(), *self.defines)
        # The second one stands for `-I .` beside a project folder that holds the graph's.
        folders = [*self.include_dirs, self.graph.parent, self.graph.parent.parent]
        return [
            *COMMON_FLAGS,
            *(f"-D{macro}" for macro in macros),
            *(part for folder in folders for part in ("-I", str(folder))),
            "-isystem",
            str(INCLUDE),
        ]


class Builder:
    """Builds programs; everything that did not change comes out of the cache."""

    def __init__(self, toolchain: Toolchain, cache: Cache, progress: Progress) -> None:
        self.toolchain, self.cache, self.progress = toolchain, cache, progress
        self.objects = ObjectCache(toolchain, cache)

    def build(self, request: Request) -> Program:
        """The program of a graph.

        Raises:
            SimulationError: a file does not compile or uses what the simulator does not know.
            OptionError: a kernel's source is missing.
        """
        flags = request.flags()
        with ThreadPoolExecutor(JOBS) as pool:
            self.progress("prepare", 0, 1)
            # The graph needs the headers alone; the runtime is made beside it.
            prefix = pool.submit(self._prefix, request)
            halves = ((IDLE, "-O0"), (BUSY, "-O2"))
            parts = [pool.submit(self._runtime, files, level) for files, level in halves]
            flags += ["-include", str(prefix.result())]
            self.progress("graph", 0, 1)
            graph = self._graph(request, flags)
            runtime = [part.result() for part in parts]
            discovery = Discovery(self.toolchain, self.cache, runtime)
            try:
                kernels = discovery.kernels(graph)
            except CompilerError as error:
                raise link_error(error, request.graph) from error
            units = self._units(request, kernels, graph)
            compiled = []
            names = self._demangled(list({s for unit in units for s in unit.symbols}))
            done = [pool.submit(self._compile, unit, flags, names) for unit in units]
            for number, (unit, future) in enumerate(zip(units, done, strict=True)):
                self.progress(f"kernels ({unit.source.name})", number, len(units))
                compiled.append(future.result())
        self.progress("link", 0, 1)
        from forge_ugc.backends.aie.simulator.linking import Linker

        linker = Linker(self.toolchain, self.cache)
        try:
            return linker.link(kernels, units, compiled, graph, runtime)
        except CompilerError as error:
            raise link_error(error, request.graph) from error

    def _runtime(self, files: Sequence[str], level: str) -> Path:
        """A part of the simulator's own code, as one unit: it is compiled once on a machine."""
        text = "".join(f'#include "{RUNTIME / name}.cc"\n' for name in files)
        flags = [*COMMON_FLAGS, level, "-I", str(RUNTIME), "-isystem", str(INCLUDE)]
        try:
            return self.objects.compile(RUNTIME / "all.cc", flags, text=text)
        except CompilerError as error:
            raise SimulationError(
                "the simulator's runtime does not compile on this machine",
                why=error.text.strip()[-2000:], fix="g++ 11 or newer is needed; report this",
            ) from error  # fmt: skip

    def _prefix(self, request: Request) -> Path:
        """A header of all of ours, precompiled for the device; g++ finds the .gch beside it."""
        headers = [name for name in PREFIX_HEADERS if (INCLUDE / name).is_file()]
        ours = sorted(INCLUDE.rglob("*.h")) + sorted(INCLUDE.rglob("*.hpp"))
        # Folders and macros of the user have no part in headers of ours.
        own, macros = COMMON_FLAGS, [f"-D{macro}" for macro in request.own_macros()]
        key = digest(self.toolchain.version, *own, *macros, *(self.cache.hash_of(p) for p in ours))
        name = f"aiesim-pch-{key}"
        header = self.cache.path(name) / "aiesim_all.h"
        if not header.with_suffix(".h.gch").exists():
            header.parent.mkdir(exist_ok=True)
            header.write_text("".join(f"#include <{h}>\n" for h in headers), encoding="utf-8")
            made = self.cache.temporary(".gch")
            try:
                self.toolchain.run(
                    "g++", *own, *macros, "-isystem", INCLUDE, "-x", "c++-header", header, "-o",
                    made,
                )  # fmt: skip
            except CompilerError as error:
                made.unlink()
                raise compile_error(error, header) from error
            made.replace(header.with_suffix(".h.gch"))
        return header

    def _graph(self, request: Request, flags: Sequence[str]) -> Path:
        """The object of the graph's file, its main under another name."""
        try:
            plain = self.objects.compile(request.graph, [*flags, "-D__AIESIM__=1"])
        except CompilerError as error:
            raise compile_error(error, request.graph) from error
        name = digest("main", plain.name) + ".o"
        if not self.cache.path(name).exists():
            made = self.cache.temporary(".o")
            self.toolchain.run("objcopy", "--redefine-sym", "main=aiesim_user_main", plain, made)
            self.cache.keep(made, name)
        return self.cache.path(name)

    def _units(self, request: Request, kernels: Sequence[KernelEntry], graph: Path) -> list[Unit]:
        """One for each source, with the functions that its kernels need of it."""
        strong = {name for name, (kind, _) in defined_symbols(self.toolchain, graph).items()
                  if kind in "TBDR"}  # fmt: skip
        found: dict[Path, list[int]] = {}
        for number, kernel in enumerate(kernels):
            if kernel.symbol in strong:
                continue  # the graph's file has the whole kernel
            if not kernel.source:
                if kernel.symbol and kernel.symbol in defined_symbols(self.toolchain, graph):
                    continue  # defined in a header of the graph's
                raise OptionError(
                    f"kernel {number} has no source", where=kernel.place,
                    why=f"nothing defines {self._demangled([kernel.symbol])[kernel.symbol]}",
                    fix='source(k) = "file.cc" in the constructor of the graph',
                )  # fmt: skip
            path = find_source(kernel.source, request.folders(), kernel)
            found.setdefault(path, []).append(number)
        return [
            Unit(source=path, kernels=tuple(numbers),
                 symbols=tuple(dict.fromkeys(kernels[n].symbol for n in numbers)))
            for path, numbers in found.items()
        ]  # fmt: skip

    def _demangled(self, symbols: Sequence[str]) -> dict[str, str]:
        """C++ names of linker names."""
        if not symbols:
            return {}
        text = self.toolchain.run("c++filt", stdin="\n".join(symbols) + "\n")
        return dict(zip(symbols, text.splitlines(), strict=True))

    def _compile(self, unit: Unit, flags: Sequence[str], names: Mapping[str, str]) -> Path:
        """The object of a source, with the instances of its templates that the graph names."""
        try:
            wanted = [s for s in unit.symbols if _instantiation(names[s])]
            lines = [_instantiation(names[symbol]) for symbol in wanted]
            text = unit.source.read_text(encoding="utf-8", errors="replace")
            own = _EXPLICIT.search(text) is not None
            if own or not lines:
                plain = self.objects.compile(unit.source, flags)
                made = defined_symbols(self.toolchain, plain) if lines else {}
                lines = [line for line, s in zip(lines, wanted, strict=True) if s not in made]
                if not any(lines):
                    return plain
            wrapped = [f'#include "{unit.source}"', *dict.fromkeys(filter(None, lines)), ""]
            return self.objects.compile(unit.source, flags, text="\n".join(wrapped))
        except CompilerError as error:
            raise compile_error(error, unit.source) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A kernel source: the instances that use it and the symbols they need."""

    source: Path
    kernels: tuple[int, ...]
    symbols: tuple[str, ...]


_EXPLICIT = re.compile(r"^\s*template\s+(?!<)(?:class|struct|void|\w+)", re.M)


def _instantiation(demangled: str) -> str:
    """The explicit instantiation that defines a function; "" if it is no template."""
    head = _before_arguments(demangled)
    if head.endswith(">"):
        return f"template {demangled};"
    owner, _, _ = _rpartition(head)
    if owner.endswith(">"):
        return f"template class {owner};"
    return ""


def _before_arguments(demangled: str) -> str:
    """What stands before the list of arguments."""
    depth = 0
    for at, character in enumerate(demangled):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0 and not demangled.startswith("(anonymous", at):
            return demangled[:at]
    return demangled


def _rpartition(name: str) -> tuple[str, str, str]:
    """Split at the last `::` that is outside of template arguments."""
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += (name[at] == ">") - (name[at] == "<")
        if depth == 0 and name[at - 1 : at + 1] == "::":
            return name[: at - 1], "::", name[at + 1 :]
    return "", "", name
