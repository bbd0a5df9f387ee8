"""A small model of the user's, and a runner of commands."""

import json

import pytest
from typer.testing import CliRunner

from forge_ugc.cli.app import app

MODEL = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(3))

    def forward(self, x, scale):
        for layer in self.layers:
            x = layer(x)
        return {"y": x * scale, "parts": [x.sum(-1)]}


def build():
    torch.manual_seed(0)
    return Net(), (torch.randn(2, 8),), {"scale": torch.tensor([2.0])}


class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def uncapturable():
    return Branch(), (torch.ones(3),)
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Name of a model for the command line; the current folder is the test's own."""
    (tmp_path / "forge_cli_user.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "forge_cli_user:build"


@pytest.fixture
def forge():
    """Run a command: `forge("compile", ..., exit_code=0)`; with `--json` the document."""

    def run(*words, exit_code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exit_code != exit_code and result.exception is not None:
            raise AssertionError(result.output) from result.exception
        assert result.exit_code == exit_code, result.output
        if "--json" in words and exit_code == 0:
            return json.loads(result.stdout)
        return result

    return run
