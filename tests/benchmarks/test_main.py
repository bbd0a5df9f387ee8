import os
import subprocess
import sys
from pathlib import Path

import benchmarks.__main__ as command
import pytest
from benchmarks.core import environment
from benchmarks.core.benchmark import SkippedError, registered
from benchmarks.core.measurement import Subject

ROOT = Path(__file__).parents[2]


def test_list(capsys):
    assert command.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(registered())


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["structur"])
    assert "no benchmark is called 'structur'; choose from artifact," in capsys.readouterr().err


def test_a_benchmark_that_cannot_run_here_writes_nothing(monkeypatch, tmp_path, capsys):
    def run(self, settings):
        raise SkippedError("there is no folder")
        yield

    monkeypatch.setattr(registered()["cases"], "run", run)
    assert command.main(["cases", "--json", str(tmp_path)]) == 1
    assert "skipped: there is no folder" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"RESULTS.md", "RESULTS.html"}


def test_the_setup_of_this_process():
    found = environment.current()
    assert len(found.commit.removesuffix("-dirty")) == 12
    assert found.cores >= 1
    assert environment.Environment.from_row({**found.row(), "metric": "time"}) == found


def test_foreign_settings_do_not_reach_a_benchmark():
    script = (
        "import os, runpy, sys; sys.argv = ['benchmarks', '--list'];"
        "os.execve = lambda path, argv, env: sys.exit(repr((argv[1:], sorted(env))));"
        "runpy.run_module('benchmarks', run_name='__main__')"
    )
    given = {**os.environ, "OPENBLAS_CORETYPE": "Zen", "OPENBLAS_L2_SIZE": "1", "KEPT": "1"}
    command = [sys.executable, "-c", script]
    got = subprocess.run(command, env=given, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "['-m', 'benchmarks', '--list']" in got.stderr
    assert "KEPT" in got.stderr
    assert "OPENBLAS" not in got.stderr


@pytest.mark.parametrize(
    "arguments", [["--quick"], ["--layers", "1"], ["--models", "gpt2,x"], ["--precisions", "int8"]]
)
def test_a_partial_run_is_shown_and_writes_nothing(arguments, monkeypatch, tmp_path, capsys):
    seen = []

    def run(self, settings):
        seen.append(settings)
        yield Subject("Cases", "forge").measure("passed", "count", 3)

    monkeypatch.setattr(registered()["cases"], "run", run)
    monkeypatch.setattr(command, "_HERE", tmp_path)
    assert command.main(["cases", *arguments]) == 0
    assert "| forge | 3 |" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert (seen[0].layers == 1) == ("1" in arguments)
    assert (seen[0].models == ("gpt2", "x")) == ("gpt2,x" in arguments)
    assert (seen[0].precisions == ("int8",)) == ("int8" in arguments)
