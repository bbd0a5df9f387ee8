"""Fail on files over 500 lines and on functions over 60."""

import argparse
import ast
import re
import sys
from pathlib import Path

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
FOLDERS = ("src", "csrc", "tests", "tools", "benchmarks", "examples")
CPP_SUFFIXES = frozenset({".h", ".hpp", ".cc", ".cpp", ".inc"})
# Inside namespaces clang-format does not indent: a definition begins and ends in column 0.
CPP_START = re.compile(r"^(?!namespace\b|#|//|\}|\s).")


def python_functions(text: str) -> list[tuple[str, int, int]]:
    """(name, first line, number of lines) of every function; docstring and decorators count."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return [(n.name, n.lineno, (n.end_lineno or n.lineno) - n.lineno + 1) for n in nodes]


def cpp_functions(text: str) -> list[tuple[str, int, int]]:
    """(first line of its text, its number, number of lines) of every function definition."""
    found, start = [], ("", 0)
    for number, line in enumerate(text.splitlines(), 1):
        if CPP_START.match(line):
            start = (line, number)
        elif line.rstrip() == "}" and start[1]:
            found.append((*start, number - start[1] + 1))
            start = ("", 0)
    return found


def faults(path: Path) -> list[str]:
    """What is too long in one file."""
    text = path.read_text(encoding="utf-8")
    length = len(text.splitlines())
    functions = python_functions(text) if path.suffix == ".py" else cpp_functions(text)
    found = [
        f"{path}:{line}: {name} has {size} lines, at most {MAX_FUNCTION_LINES} are allowed"
        for name, line, size in functions
        if size > MAX_FUNCTION_LINES
    ]
    if length > MAX_FILE_LINES:
        found.append(f"{path}: {length} lines, at most {MAX_FILE_LINES} are allowed")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, nargs="?", default=Path())
    root = parser.parse_args().root
    paths = [
        path
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.suffix == ".py" or path.suffix in CPP_SUFFIXES
    ]
    found = [fault for path in paths for fault in faults(path)]
    print("\n".join([*found, f"{len(paths)} files, {len(found)} too long"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
