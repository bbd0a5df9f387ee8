"""Graphs of these tests are built in one cache, which outlives a run."""

import tempfile
from pathlib import Path

import pytest

from forge_ugc.backends.aie.simulator.toolchain import CACHE_VARIABLE


@pytest.fixture(autouse=True)
def _aiesim_cache(monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(Path(tempfile.gettempdir()) / "forge-aiesim-tests"))
