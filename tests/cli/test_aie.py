"""`forge-ugc aie sim` on a graph that somebody else might have written."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from forge_ugc.backends.aie.simulator.toolchain import CACHE_VARIABLE

GRAPHS = Path(__file__).parents[1] / "backends" / "aie" / "simulator" / "graphs"

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(autouse=True)
def _inputs(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE_VARIABLE, str(Path(tempfile.gettempdir()) / "forge-aiesim-tests"))
    (tmp_path / "in.txt").write_text("".join(f"{i}\n" for i in range(16)))
    monkeypatch.chdir(tmp_path)


def test_sim_shows_kernels_ports_and_times(forge, tmp_path):
    text = forge("aie", "sim", str(GRAPHS / "cascade" / "graph.cpp"), "--data", ".").stdout
    for part in ("Kernels (cycles of the model)", "first", "second", "PLIO", "cycles"):
        assert part in text
    assert (tmp_path / "aiesim_output" / "out.txt").read_text().split()[:2] == ["0", "101"]


def test_sim_as_json_with_a_trace(forge, tmp_path):
    (tmp_path / "costs.txt").write_text("call_cycles = 100  # of one invocation\n")
    found = forge(
        "aie", "sim", str(GRAPHS / "cascade" / "graph.cpp"), "--data", ".", "--out", "results",
        "--costs", "costs.txt", "--trace", "trace.json", "--json",
    )  # fmt: skip
    assert found["version"] == 1
    assert found["device"] == "vck190"
    assert [k["name"] for k in found["kernels"]] == ["first", "second"]
    assert found["kernels"][0]["end_cycle"] >= 100
    assert (tmp_path / "results" / "out.txt").exists()
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X" and e["cat"] == "kernel"]
    assert [e["name"] for e in spans] == ["iteration 0", "iteration 0"]


def test_a_bad_file_of_costs(forge, tmp_path):
    (tmp_path / "costs.txt").write_text("call_cycles 100\n")
    result = forge(
        "aie", "sim", str(GRAPHS / "cascade" / "graph.cpp"), "--costs", "costs.txt", exit_code=1
    )
    assert "a line of a file of costs is `name = number`" in result.stderr
    assert "costs.txt:1" in result.stderr
