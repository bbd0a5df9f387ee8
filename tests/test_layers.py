"""Imports between packages run one way, as docs/architecture.md says."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "forge_ugc"
LOW = {"npuir", "ops"}
ALLOWED = {
    "npuir": set(),
    "ops": {"npuir"},
    "capture": LOW,
    "passes": LOW | {"options", "quantization"},
    "aie": LOW | {"backends", "quantization"},
    "quantization": LOW | {"native"},
    "schedule": LOW,
    "backends": LOW | {"native", "_native", "options", "quantization"},
    "artifact": LOW | {"constants"},
    "constants": set(),
    "lowering": LOW | {"capture", "passes", "backends"},
    "report": {"backends", "npuir", "passes", "quantization", "result", "schedule"},
    "profiling": LOW | {"backends", "native", "_native", "report"},
    "loaders": set(),
    "evaluation": {"compiler", "loaders", "native", "options", "report"},
    "errors": set(),
    "options": set(),
    "plugins": set(),
    "native": {"_native"},
    "result": {"backends", "capture", "passes", "quantization", "schedule"},
    "compiler": LOW | {
        "artifact", "backends", "capture", "constants", "lowering", "options", "passes",
        "profiling", "quantization", "report", "result", "schedule",
    },
    "dynamo": {"compiler", "options"},
    "inspection": {"backends", "capture", "compiler", "passes"},
}  # fmt: skip
TOP = {"__init__", "cli"}
"""May import anything, and nothing below imports them."""


def imported(file):
    """Dotted names of our modules that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1:] for name in names if name.startswith("forge_ugc."))


def files_of(name):
    return list((SOURCE / name).rglob("*.py")) or [SOURCE / f"{name}.py"]


def test_every_package_has_its_layer():
    found = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert found - {"__pycache__"} == set(ALLOWED) | TOP


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_those_below_it(package):
    allowed = ALLOWED[package] | {package, "errors", "plugins"}
    used = {(str(f.relative_to(SOURCE)), n[0]) for f in files_of(package) for n in imported(f)}
    assert {(f, n) for f, n in used if n not in allowed} == set()


def test_no_two_packages_import_each_other():
    pairs = {(a, b) for a, below in ALLOWED.items() for b in below}
    assert {(a, b) for a, b in pairs if (b, a) in pairs} == set()


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_are_absolute(package):
    for file in files_of(package):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), file


def test_no_backend_imports_another():
    folders = {f.parent.name for f in (SOURCE / "backends").glob("*/backend.py")}
    for name in folders:
        for file in (SOURCE / "backends" / name).rglob("*.py"):
            used = {n[1] for n in imported(file) if n[0] == "backends" and len(n) > 1}
            assert not used & (folders - {name}), file
