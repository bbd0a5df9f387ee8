"""Fenced blocks of Markdown files, with what stands right before each."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    `line` is that of its first line of code, from 1; `shows` the block whose output it is: a `text`
    or `npuir` block shows the output of the `python` or `sh` block that it follows directly.
    """

    language: str
    code: str
    line: int
    shows: "Block | None" = None


def blocks(text):
    found, end = [], 0
    for match in _FENCE.finditer(text):
        adjacent = found and not text[end : match.start()].strip()
        language = match[1]
        shows = None
        if adjacent and language in {"text", "npuir"} and found[-1].language in {"python", "sh"}:
            shows = found[-1]
        line = text.count("\n", 0, match.start(2)) + 1
        found.append(Block(language, match[2], line, shows))
        end = match.end()
    return found


def files(text):
    """Contents by path: Python blocks whose first line is `# src/...` or `# tests/...`.

    A block that says `continued` follows the ones before it.
    """
    found = {}
    for block in blocks(text):
        if path := _file_of(block):
            found[path] = found.get(path, "") + block.code
    return found


def _file_of(block):
    named = re.match(r"# ((?:src|tests)/[\w./-]+)(, continued)?\n", block.code)
    return named[1] if named and block.language == "python" else None


def script(text):
    """All other Python of a document as one file, every line where it stands in the document."""
    lines = []
    for block in blocks(text):
        if block.language == "python" and not _file_of(block):
            lines += [""] * (block.line - 1 - len(lines)) + block.code.splitlines()
    return "\n".join(lines) + "\n" if lines else ""


def commands(text):
    """The lines of `sh` blocks, without comments."""
    code = [block.code for block in blocks(text) if block.language == "sh"]
    lines = [line.split("  #")[0].strip() for part in code for line in part.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]
