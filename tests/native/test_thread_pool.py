"""The C++ tests of the thread pool, of where its threads run and of programs on it.

Plain and under ThreadSanitizer.
"""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[2] / "csrc"
COMPILER = shutil.which("g++") or shutil.which("c++")
POOL = ("runtime/thread_pool.cc", "runtime/placement.cc")
SOURCES = {
    "placement_test": ("runtime/placement.cc",),
    "thread_pool_test": POOL,
    "program_test": (*POOL, "runtime/program.cc", "runtime/memory.cc"),
}

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on the PATH")


@pytest.mark.parametrize("flags", [[], ["-fsanitize=thread"]], ids=["plain", "thread-sanitizer"])
@pytest.mark.parametrize("name", SOURCES)
def test_threads(tmp_path, name, flags):
    # `make sanitize` preloads AddressSanitizer into Python, which must not reach this program.
    clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    program = tmp_path / name
    sources = [*(CSRC / source for source in SOURCES[name]), CSRC / f"tests/{name}.cc"]
    warnings = ["-Wall", "-Wextra", "-Werror"]
    build = [COMPILER, "-std=c++20", "-O1", "-g", *warnings, *flags, f"-I{CSRC}", "-pthread"]
    subprocess.run([*build, *map(str, sources), "-o", str(program)], check=True, env=clean)
    # ThreadSanitizer needs its usual memory map, which address randomisation can take from it.
    plain_map = ["setarch", platform.machine(), "-R"] if flags and shutil.which("setarch") else []
    shown = subprocess.run(
        [*plain_map, program], capture_output=True, text=True, timeout=300, env=clean
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout == "ok\n"
