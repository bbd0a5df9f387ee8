"""C++ programs on the simulator's headers: built once a session, fed and read as raw arrays."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import forge_ugc.backends.aie

HEADERS = Path(forge_ugc.backends.aie.__file__).parent / "simulator" / "include"
PROGRAMS = Path(__file__).parents[1] / "backends" / "aie" / "simulator" / "programs"
FLAGS = ("-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")


@functools.cache
def _folder():
    # Lives as long as the process does.
    return tempfile.TemporaryDirectory(prefix="aie_programs_")


@functools.cache
def build(name: str, architecture: int = 10, generated: str = "") -> Path:
    """Path of the built program `programs/<name>.cc`, which may include `generated.inc`."""
    folder = Path(_folder().name) / f"{name}_{architecture}"
    folder.mkdir()
    (folder / "generated.inc").write_text(generated)
    target = folder / name
    command = ["g++", *FLAGS, f"-D__AIE_ARCH__={architecture}", f"-I{HEADERS}", f"-I{folder}",
               str(PROGRAMS / f"{name}.cc"), "-o", str(target)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return target


class Output:
    """What a program wrote, taken off in order."""

    def __init__(self, data: bytes):
        self.data, self.position = data, 0

    def take(self, dtype, *shape):
        dtype = np.dtype(dtype)
        size = int(np.prod(shape, dtype=int)) * dtype.itemsize
        part = self.data[self.position : self.position + size]
        assert len(part) == size, "the program wrote less than was asked for"
        self.position += size
        return np.frombuffer(part, dtype).reshape(shape)

    def done(self):
        assert self.position == len(self.data), "the program wrote more than was taken"


def run(name: str, *inputs, architecture: int = 10, generated: str = "") -> Output:
    """Runs a program on the bytes of arrays."""
    data = b"".join(np.ascontiguousarray(array).tobytes() for array in inputs)
    program = build(name, architecture, generated)
    done = subprocess.run([program], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return Output(done.stdout)


def failure(name: str, *arguments: str, architecture: int = 10) -> str:
    """What a program says that has to fail."""
    done = subprocess.run([build(name, architecture), *arguments], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
    return done.stderr


def refusal(source: str, architecture: int = 10) -> str:
    """What the compiler says about a source that must not compile."""
    command = ["g++", *FLAGS, f"-D__AIE_ARCH__={architecture}", f"-I{HEADERS}", "-fsyntax-only",
               "-x", "c++", "-"]  # fmt: skip
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode != 0, "it compiles"
    return done.stderr


def integers(rng, dtype, *shape):
    """Random integers of a type, a third of them its extremes and their neighbours."""
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    near = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1], dtype)
    return np.where(rng.random(shape) < 1 / 3, rng.choice(near, shape), values).astype(dtype)
