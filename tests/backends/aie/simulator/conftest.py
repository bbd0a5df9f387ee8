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


@pytest.fixture(autouse=True)
def _cache(monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(Path(tempfile.gettempdir()) / "forge-aiesim-tests"))
    monkeypatch.chdir(GRAPHS)  # messages name files from there


@pytest.fixture
def run(tmp_path):
    """Simulate a graph of these tests on input files given as text: result and outputs."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")

    def run(name, inputs=None, **options):
        data = tmp_path / "in"
        data.mkdir(exist_ok=True)
        for file, text in (inputs or {}).items():
            (data / file).parent.mkdir(parents=True, exist_ok=True)
            (data / file).write_text(text)
        found = simulate(name, data_dir=data, out_dir=tmp_path / "out", **options)
        return found, {key: path.read_text() for key, path in found.outputs.items()}

    return run
