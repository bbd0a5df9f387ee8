"""Joins the objects of a design: every kernel instance has globals of its own, as on its tile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from forge_ugc.backends.aie.simulator.discovery import KernelEntry, defined_symbols
from forge_ugc.backends.aie.simulator.toolchain import Cache, Toolchain, digest
from forge_ugc.errors import OptionError

if TYPE_CHECKING:
    from forge_ugc.backends.aie.simulator.builder import Program, Unit

JOBS = 2
WRITABLE = frozenset("BbDdVvu")
SHARED = re.compile(r"^_ZN6aiesim(?!.*[a-z_]+C[12]).*E$")
"""Variables of the simulator's headers: one for the whole program."""


class Linker:
    """Makes the program of a design."""

    def __init__(self, toolchain: Toolchain, cache: Cache) -> None:
        self.toolchain, self.cache = toolchain, cache

    def link(
        self, kernels: Sequence[KernelEntry], units: Sequence[Unit], objects: Sequence[Path],
        graph: Path, runtime: Sequence[Path],
    ) -> Program:  # fmt: skip
        """The program, from the objects of the graph, the runtime and each source.

        Raises:
            CompilerError: something is not defined.
            OptionError: an initialisation function does not exist.
        """
        from forge_ugc.backends.aie.simulator.builder import Program

        names = [_short_name(line) for line in self._demangled([k.symbol for k in kernels])]
        sources = [""] * len(kernels)
        for unit in units:
            for number in unit.kernels:
                sources[number] = str(unit.source)
        key = digest(
            Path(__file__).read_bytes(), self.toolchain.version, graph.name,
            *(part.name for part in (*runtime, *objects)),
            *(str(u.kernels) for u in units),
            *(f"{k.symbol}\0{k.initialization}" for k in kernels),
        )  # fmt: skip
        program = self.cache.path(f"{key}.program")
        if not program.exists():
            self._link(kernels, units, objects, graph, runtime, names, program)
        return Program(path=program, names=tuple(names), sources=tuple(sources))

    def _link(
        self, kernels: Sequence[KernelEntry], units: Sequence[Unit], objects: Sequence[Path],
        graph: Path, runtime: Sequence[Path], names: Sequence[str], program: Path,
    ) -> None:  # fmt: skip
        needed = self._undefined(graph)
        entries: dict[int, tuple[str, str]] = {}
        parts: list[Path] = []
        claimed: set[str] = set()
        with ThreadPoolExecutor(JOBS) as pool:
            tables = list(pool.map(self._symbols, objects))
            made_parts = []
            for unit, compiled, (symbols, writable) in zip(units, objects, tables, strict=True):
                keep = [s for s in symbols if s in needed and s not in claimed]
                claimed.update(keep)
                # Without state, instances cannot tell whether they share their code.
                groups = [[n] for n in unit.kernels] if writable else [list(unit.kernels)]
                for index, group in enumerate(groups):
                    chosen = {n: kernels[n] for n in group}
                    kept = keep if index == 0 else []
                    made_parts.append(pool.submit(self._instance, compiled, chosen, symbols, kept))
            for future in made_parts:
                part, found = future.result()
                parts.append(part)
                entries.update(found)
        made = self.cache.temporary(".program")
        table = self.cache.write_text(digest(str(entries), *names) + ".s", _table(entries, names))
        self.toolchain.run("g++", "-no-pie", graph, *parts, *runtime, table, "-o", made)
        self.cache.keep(made, program.name)

    def _instance(
        self, compiled: Path, kernels: dict[int, KernelEntry],
        symbols: dict[str, tuple[str, int]], keep: Sequence[str],
    ) -> tuple[Path, dict[int, tuple[str, str]]]:  # fmt: skip
        """An object in which all is local but what is kept, and the entries of its instances."""
        entries: dict[int, tuple[str, str]] = {}
        renamed: dict[str, str] = {}
        first = min(kernels)
        for number, kernel in kernels.items():
            wanted = (kernel.symbol if kernel.symbol in symbols else "",
                      self._initialization(kernel, symbols))  # fmt: skip
            renamed |= {s: f"aiesim_k{first}_{s}" for s in wanted if s and s not in keep}
            entries[number] = (renamed.get(wanted[0], wanted[0]), renamed.get(wanted[1], wanted[1]))
        shared = [s for s in symbols if SHARED.match(s) and symbols[s][0] in WRITABLE]
        options = [f"--redefine-sym={old}={new}" for old, new in renamed.items()]
        kept = [*keep, *shared, *renamed.values()]
        # A list of no symbol at all would keep every one of them.
        options += [f"--keep-global-symbol={s}" for s in kept or ["aiesim_none"]]
        name = digest("instance", compiled.name, *options) + ".o"
        found = self.cache.path(name)
        if not found.exists():
            whole, made = self.cache.temporary(".o"), self.cache.temporary(".o")
            # Groups would let the linker drop a part of one instance for that of another.
            self.toolchain.run("ld", "-r", "--force-group-allocation", compiled, "-o", whole)
            if renamed:
                moves = [o for o in options if o.startswith("--redefine")]
                self.toolchain.run("objcopy", *moves, whole)
            self.toolchain.run(
                "objcopy", *(o for o in options if o.startswith("--keep")), whole, made
            )
            whole.unlink()
            self.cache.keep(made, name)
        return found, entries

    def _initialization(self, kernel: KernelEntry, symbols: dict[str, tuple[str, int]]) -> str:
        """The linker name of `initialization_function(k) = "name"`."""
        if not kernel.initialization:
            return ""
        plain = kernel.initialization.removesuffix("()")
        names = list(symbols)
        for symbol, line in zip(names, self._demangled(names), strict=True):
            if line.partition("(")[0] == plain:
                return symbol
        raise OptionError(
            f"the initialization function {plain} was not found", where=kernel.place,
            why=f"{kernel.source} defines no function of that name",
        )  # fmt: skip

    def _undefined(self, path: Path) -> set[str]:
        text = self.toolchain.run("nm", "--undefined-only", path)
        return {line.split()[-1] for line in text.splitlines()}

    def _symbols(self, path: Path) -> tuple[dict[str, tuple[str, int]], bool]:
        """The external symbols of an object, and whether it has variables of its own."""
        external = defined_symbols(self.toolchain, path)
        rows = [line.split(maxsplit=2) for line in self.toolchain.run("nm", path).splitlines()]
        writable = any(row[-2] in WRITABLE and not SHARED.match(row[-1]) for row in rows)
        return external, writable

    def _demangled(self, symbols: Sequence[str]) -> list[str]:
        if not symbols:
            return []
        return self.toolchain.run("c++filt", stdin="\n".join(symbols) + "\n").split("\n")[:-1]


def _short_name(demangled: str) -> str:
    """`scale<4>` of `void ns::scale<4>(...)`; the class of a method."""
    from forge_ugc.backends.aie.simulator.builder import _before_arguments, _rpartition

    head = _before_arguments(demangled)
    depth, start = 0, 0
    for at, character in enumerate(head):
        depth += (character == "<") - (character == ">")
        if character == " " and depth == 0:
            start = at + 1
    owner, _, name = _rpartition(head[start:])
    inner = _rpartition(owner)[2]
    is_class = inner.endswith(">") or (inner[:1].isupper() and inner != "")
    short = inner if is_class else name
    if len(short) > 48:
        short = short.partition("<")[0]
    return short or "kernel"


def _table(entries: dict[int, tuple[str, str]], names: Sequence[str]) -> str:
    """Assembly of the table that the runtime reads: function, initialisation, name."""
    lines = ['.section .data,"aw"', ".balign 8", ".globl aiesim_entries", "aiesim_entries:"]
    for number in range(len(names)):
        function, initialization = entries.get(number, ("", ""))
        lines += [f".quad {_quoted(function)}, {_quoted(initialization)}, .Lname{number}"]
    lines += [".quad 0", '.section .rodata,"a"', ".balign 4", ".globl aiesim_entry_count",
              "aiesim_entry_count:", f".long {len(names)}"]  # fmt: skip
    lines += [f'.Lname{n}: .asciz "{name}"' for n, name in enumerate(names)]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def _quoted(symbol: str) -> str:
    return f'"{symbol}"' if symbol else "0"
