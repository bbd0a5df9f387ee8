"""The check of ISA objects finds what the linker might share with other code."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "check_isa_objects.py"
COMPILER = shutil.which("g++") or shutil.which("clang++")

pytestmark = pytest.mark.skipif(
    COMPILER is None or shutil.which("nm") is None, reason="needs a compiler and nm"
)


def check(tmp_path: Path, source: str) -> tuple[int, str]:
    folder = tmp_path / "forge_isa_avx2.dir" / "kernels"
    folder.mkdir(parents=True)
    (tmp_path / "a.cc").write_text(source)
    command = [str(COMPILER), "-O0", "-c", str(tmp_path / "a.cc"), "-o", str(folder / "a.cc.o")]
    subprocess.run(command, check=True)
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    return got.returncode, got.stdout


def test_helpers_in_unnamed_namespaces_pass(tmp_path):
    source = "namespace { int twice(int x) { return 2 * x; } }\nint f(int x) { return twice(x); }\n"
    assert check(tmp_path, source) == (0, "1 ISA objects, 0 weak symbols\n")


def test_shared_inline_code_fails(tmp_path):
    source = "inline int twice(int x) { return 2 * x; }\nint f(int x) { return twice(x); }\n"
    assert check(tmp_path, source) == (1, "a.cc.o: _Z5twicei\n1 ISA objects, 1 weak symbols\n")


def test_an_empty_folder_fails(tmp_path):
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert got.returncode == 1
    assert "no objects" in got.stdout
