"""Weights in another precision are made one at a time, when they are packed."""

import weakref

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc import Options
from forge_ugc.passes.mixed import constants

IDS = torch.tensor([[3, 1, 4, 1]])


class Net(nn.Module):
    """A tied table, a weight that is read twice, one that is read transposed, a gated pair."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.twice, self.gate, self.up = nn.Linear(32, 32), nn.Linear(32, 48), nn.Linear(32, 48)
        self.turned = nn.Parameter(torch.randn(48, 32))
        self.other = nn.Embedding(8, 32)
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.twice(torch.tanh(self.twice(self.embed(ids)))) + self.other(ids)
        x = nn.functional.silu(self.gate(x)) * self.up(x) @ self.turned
        return self.head(x)


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net().eval()


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_the_result_is_that_of_weights_made_at_once(net, precision):
    options = Options(precision=precision)
    late = forge_ugc.compile(net, (IDS,), options=options)
    at_once = forge_ugc.compile(
        net, (IDS,), options=Options(precision=precision, verify_passes=True)
    )
    assert not late.result.host_instructions
    assert torch.equal(late(IDS), at_once(IDS))
    by_operators = forge_ugc.compile(
        net, (IDS,), options=Options(precision=precision, native=False)
    )
    torch.testing.assert_close(late(IDS), by_operators(IDS), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_a_saved_model_has_the_weights(net, precision, tmp_path):
    compiled = forge_ugc.compile(net, (IDS,), options=Options(precision=precision))
    compiled.save(tmp_path / "net.forge")
    assert torch.equal(forge_ugc.load(tmp_path / "net.forge")(IDS), compiled(IDS))


def test_one_quantised_weight_is_alive_at_a_time(net, monkeypatch):
    alive, most = [], []
    quantize_weight = constants.quantize_weight

    def watched(weight):
        most.append(sum(ref() is not None for ref in alive))
        q, scale = quantize_weight(weight)
        kept = q.numpy().copy()  # lives as long as the tensor's storage
        alive.append(weakref.ref(kept))
        return torch.from_numpy(kept), scale

    monkeypatch.setattr(constants, "quantize_weight", watched)
    forge_ugc.compile(net, (IDS,), options=Options(precision="int8"))
    assert len(alive) == 5
    assert most == [0] * 5
    assert not any(ref() is not None for ref in alive)


def test_bf16_weights_are_packed_from_f32(net, monkeypatch):
    made = []
    rounded = constants._rounded

    def watched(data, postponed):
        found = rounded(data, postponed)
        made.append((found[0].is_meta, postponed is not None))
        return found

    monkeypatch.setattr(constants, "_rounded", watched)
    compiled = forge_ugc.compile(net, (IDS,), options=Options(precision="bf16"))
    assert made
    assert all(late for late, _ in made)
    assert compiled(IDS).isfinite().all()
