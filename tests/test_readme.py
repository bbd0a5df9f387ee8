"""The Python and the commands of README.md run as they stand there."""

import re
import shlex
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from forge_ugc.cli.app import app

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    forge-ugc (.*)$", TEXT, re.MULTILINE)


def test_python_block_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 1
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names: dict[str, object] = {}
    exec(compile(blocks[0], "README.md", "exec"), names)
    assert "npuir.program @Sequential target(cpu)" in capsys.readouterr().out
    assert (tmp_path / "mlp.forge").exists()
    loaded = names["forge_ugc"].load("mlp.forge")
    torch.testing.assert_close(loaded(names["x"]), names["model"](names["x"]))


def test_every_command_is_shown():
    shown = {line.split()[0] for line in COMMANDS}
    assert shown == {command.name for command in app.registered_commands}


@pytest.mark.parametrize(
    "line",
    [pytest.param(c, marks=pytest.mark.slow) if "smollm2" in c else c for c in COMMANDS],
)
def test_command_runs(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    got = CliRunner().invoke(app, shlex.split(line, comments=True))
    assert got.exit_code == 0, got.output
    assert got.output.strip()
