"""The compiler on this machine, and a cache of everything it makes, by content."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_ugc.errors import BackendUnavailableError

CACHE_VARIABLE = "FORGE_AIESIM_CACHE"
TOOLS = ("g++", "ld", "objcopy", "nm", "c++filt", "addr2line")


def cache_folder() -> Path:
    """Where binaries are kept: $FORGE_AIESIM_CACHE, or the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "forge-ugc" / "aiesim"


def digest(*parts: str | bytes) -> str:
    """A name for some content."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()[:32]


class CompilerError(Exception):
    """A tool ended with an error; `text` is what it said."""

    def __init__(self, command: Sequence[str], text: str) -> None:
        super().__init__(text)
        self.command, self.text = tuple(command), text


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """Tools by name, and what the compiler calls itself."""

    paths: dict[str, str]
    version: str

    def run(self, tool: str, *args: str | Path, stdin: str | None = None) -> str:
        """Standard output of a tool.

        Raises:
            CompilerError: it failed.
        """
        command = [self.paths[tool], *map(str, args)]
        done = subprocess.run(
            command, capture_output=True, text=True, input=stdin, check=False,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        if done.returncode != 0:
            raise CompilerError(command, done.stderr or done.stdout)
        return done.stdout


@functools.cache
def _found(search_path: str) -> Toolchain:
    paths = {}
    for tool in TOOLS:
        path = shutil.which(os.environ.get("CXX", "g++") if tool == "g++" else tool)
        if path is None:
            raise BackendUnavailableError(
                f"the AI Engine simulator needs {tool}, which is not on this machine",
                why=f"it is not on the PATH: {search_path}",
                fix="install g++ 11 or newer with binutils, such as `apt install g++`",
            )
        paths[tool] = path
    version = subprocess.run(
        [paths["g++"], "--version"], capture_output=True, text=True, check=False
    ).stdout.partition("\n")[0]
    return Toolchain(paths=paths, version=version)


def find_toolchain() -> Toolchain:
    """The tools of this machine.

    Raises:
        BackendUnavailableError: one is missing.
    """
    return _found(os.environ.get("PATH", ""))


class Cache:
    """Files by the content they were made from; safe for several processes at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._hashes: dict[Path, str] = {}

    def path(self, name: str) -> Path:
        """Where a file of that name is or would be."""
        return self.folder / name

    def temporary(self, suffix: str) -> Path:
        """A new file to write to before `keep`."""
        handle, name = tempfile.mkstemp(suffix=suffix, dir=self.folder)
        os.close(handle)
        return Path(name)

    def keep(self, made: Path, name: str) -> Path:
        """Give a finished file its name, at once."""
        target = self.path(name)
        made.replace(target)
        return target

    def write_text(self, name: str, text: str) -> Path:
        """A small file with that text."""
        target = self.path(name)
        if not target.exists():
            made = self.temporary(target.suffix)
            made.write_text(text, encoding="utf-8")
            self.keep(made, name)
        return target

    def hash_of(self, path: Path) -> str:
        """Of a file's content; read once in a run."""
        if path not in self._hashes:
            try:
                self._hashes[path] = digest(path.read_bytes())
            except OSError:
                return "missing"
        return self._hashes[path]


class ObjectCache:
    """Compiles a source once for each content of it and of all files that it includes."""

    def __init__(self, toolchain: Toolchain, cache: Cache) -> None:
        self.toolchain, self.cache = toolchain, cache

    def compile(self, source: Path, flags: Sequence[str], *, text: str | None = None) -> Path:
        """The object of a source, or of `text` that stands for it.

        Raises:
            CompilerError: it does not compile.
        """
        content = source.read_bytes() if text is None else text.encode()
        key = digest(self.toolchain.version, "\0".join(flags), str(source), content)
        manifest = self.cache.path(f"{key}.deps")
        for name, inputs in _read_manifest(manifest):
            if all(self.cache.hash_of(Path(p)) == h for p, h in inputs.items()):
                found = self.cache.path(name)
                if found.exists():
                    return found
        return self._compile(source, flags, text, key, manifest)

    def _compile(
        self, source: Path, flags: Sequence[str], text: str | None, key: str, manifest: Path
    ) -> Path:
        unit = source
        if text is not None:
            unit = self.cache.write_text(f"{key}.cc", text)
        made, listing = self.cache.temporary(".o"), self.cache.temporary(".d")
        try:
            self.toolchain.run(
                "g++", *flags, "-x", "c++", "-c", unit, "-o", made, "-MD", "-MF", listing
            )
            inputs = {p: self.cache.hash_of(Path(p)) for p in _dependencies(listing)}
        except CompilerError:
            made.unlink(missing_ok=True)
            raise
        finally:
            listing.unlink(missing_ok=True)
        name = digest(key, json.dumps(inputs, sort_keys=True)) + ".o"
        found = self.cache.keep(made, name)
        entries = [(name, inputs), *_read_manifest(manifest)[:7]]
        made = self.cache.temporary(".deps")
        made.write_text(json.dumps(entries), encoding="utf-8")
        self.cache.keep(made, manifest.name)
        return found


def _read_manifest(path: Path) -> list[tuple[str, dict[str, str]]]:
    try:
        return [(name, inputs) for name, inputs in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError):
        return []


def _dependencies(listing: Path) -> Iterable[str]:
    """Files that a compilation read, out of a makefile rule."""
    text = listing.read_text(encoding="utf-8").replace("\\\n", " ")
    _, _, names = text.partition(": ")
    name = ""
    for part in names.split():
        if part.endswith("\\"):  # an escaped blank in a name
            name += part[:-1] + " "
            continue
        yield name + part
        name = ""
