"""A packed weight is held once: what the module does not own any more is gone, yet can be saved."""

from __future__ import annotations

import copy
import gc
import weakref
from pathlib import Path

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc import Options
from forge_ugc.errors import InputError


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
    # Even the table, whose rows are looked up in its packed form.
    assert len(model._executable.released) == 3
    refs = [weakref.ref(t) for t in (module.twice.weight, module.conv, module.table.weight)]
    saved = copy.deepcopy(module.state_dict())
    del module
    gc.collect()
    assert [r() for r in refs] == [None, None, None]
    torch.testing.assert_close(model(ids), want)

    model.save(tmp_path / "m.forge")
    again = forge_ugc.load(tmp_path / "m.forge")
    assert torch.equal(again(ids), model(ids))
    assert torch.equal(copy.deepcopy(model)(ids), model(ids))
    restored = [f() for f in model._executable.released.values()]
    assert any(torch.equal(t, saved["twice.weight"]) for t in restored)
    assert any(t.shape == (32, 32) and torch.equal(t.t(), saved["conv"]) for t in restored)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_a_tied_table_is_held_once_in_every_precision(precision: str) -> None:
    torch.manual_seed(0)
    module, ids = Tied().eval(), torch.tensor([[3, 1, 4, 49]])
    model = forge_ugc.compile(module, (ids,), options=Options(precision=precision))
    meant = forge_ugc.compile(module, (ids,), options=Options(precision=precision, native=False))
    assert dict(model.result.host_instructions) == {}
    assert len(model._executable.released) == 3
    torch.testing.assert_close(model(ids), meant(ids), rtol=2**-7, atol=2e-2)
    with pytest.raises(InputError, match="met an index that is out of range"):
        model(torch.tensor([[3, 1, 4, 50]]))


def test_a_table_that_is_read_after_the_product_is_released_too() -> None:
    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(50, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found = nn.functional.linear(x, self.table.weight).argmax(-1)
            return self.table(found)

    torch.manual_seed(0)
    module, x = Late().eval(), torch.randn(3, 32)
    model = forge_ugc.compile(module, (x,))
    assert list(model._executable.released) == ["table.weight"]
    with torch.no_grad():
        assert torch.equal(model(x), module(x))
