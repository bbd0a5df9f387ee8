"""A packed weight is held once: what the module does not own any more is gone, yet can be saved."""

from __future__ import annotations

import copy
import gc
import weakref
from pathlib import Path

import torch
from torch import nn

import forge_ugc


class Tied(nn.Module):
    """An embedding whose table is also the last weight, and a weight that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 32)
        self.twice = nn.Linear(32, 32, bias=False)
        self.conv = nn.Parameter(torch.randn(32, 32))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.twice(torch.relu(self.twice(self.table(ids))))
        return nn.functional.linear(x @ self.conv, self.table.weight)


def test_weights_that_only_kernels_read_are_released(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, ids = Tied().eval(), torch.tensor([[3, 1, 4]])
    with torch.no_grad():
        want = module(ids)
    model = forge_ugc.compile(module, (ids,))
    # The table is read row by row as well, so it has to stay.
    assert len(model._executable.released) == 2
    refs = [weakref.ref(module.twice.weight), weakref.ref(module.conv)]
    saved = copy.deepcopy(module.state_dict())
    del module
    gc.collect()
    assert [r() for r in refs] == [None, None]
    torch.testing.assert_close(model(ids), want)

    model.save(tmp_path / "m.forge")
    again = forge_ugc.load(tmp_path / "m.forge")
    assert torch.equal(again(ids), model(ids))
    assert torch.equal(copy.deepcopy(model)(ids), model(ids))
    restored = [f() for f in model._executable.released.values()]
    assert any(torch.equal(t, saved["twice.weight"]) for t in restored)
    assert any(t.shape == (32, 32) and torch.equal(t.t(), saved["conv"]) for t in restored)
