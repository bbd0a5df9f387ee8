"""Graphs of these tests are built in one cache, which outlives a run.

Compiling the runtime and the headers takes most of the time; the cache knows when they change.
"""

import shutil
import tempfile
from pathlib import Path

import pytest

from forge_ugc.backends.aie.simulator import simulate
from forge_ugc.backends.aie.simulator.toolchain import CACHE_VARIABLE

GRAPHS = Path(__file__).parent / "graphs"
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(autouse=True)
def _cache(monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(Path(tempfile.gettempdir()) / "forge-aiesim-tests"))


@pytest.fixture
def run(tmp_path):
    """Simulate a graph of these tests on input files given as text: result and outputs."""

    def run(name, inputs=None, **options):
        for file, text in (inputs or {}).items():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(text)
        found = simulate(GRAPHS / name, data_dir=tmp_path, out_dir=tmp_path / "out", **options)
        return found, {key: path.read_text() for key, path in found.outputs.items()}

    return run
