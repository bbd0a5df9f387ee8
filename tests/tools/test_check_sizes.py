"""The size check finds long files and functions in both languages."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "check_sizes.py"


def check(root: Path) -> tuple[int, str]:
    command = [sys.executable, str(SCRIPT), str(root)]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert got.stderr == ""
    return got.returncode, got.stdout.replace(f"{root}/", "")


def python(body_lines: int) -> str:
    return "def long():\n" + "    x = 1\n" * body_lines


def cpp(body_lines: int) -> str:
    return "namespace a {\nint f(int x,\n      int y) {\n" + "  x += y;\n" * body_lines + "}\n}\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/a.py", python(59)),
        ("csrc/a.cc", cpp(57)),
        (
            "csrc/a.h",
            "int f(int x,\n      int y);\n" * 40 + "struct S {\n" + "  int x;\n" * 80 + "};\n",
        ),
        ("tests/a.py", "x = 1\n" * 500),
    ],
)
def test_within_limits(tmp_path, name, text):
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(text)
    assert check(tmp_path) == (0, "1 files, 0 too long\n")


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("src/a.py", python(60), "src/a.py:1: long has 61 lines, at most 60 are allowed"),
        ("csrc/a.cc", cpp(58), "csrc/a.cc:2: int f(int x, has 61 lines, at most 60 are allowed"),
        ("src/b.py", "x = 1\n" * 501, "src/b.py: 501 lines, at most 500 are allowed"),
    ],
)
def test_over_limits(tmp_path, name, text, fault):
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(text)
    assert check(tmp_path) == (1, f"{fault}\n1 files, 1 too long\n")
