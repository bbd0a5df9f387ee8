"""Parameters of blocks that are not traced are out of sight of torch.export, and come back."""

import copy

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.capture import capture
from forge_ugc.capture.block_candidates import find_blocks
from forge_ugc.capture.export import FlatModule
from forge_ugc.capture.hidden_tensors import HiddenTensors
from forge_ugc.capture.structure import TensorLeaf

X = torch.linspace(-1, 1, 8).reshape(2, 4)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.register_buffer("table", torch.randn(4), persistent=False)

    def forward(self, x):
        return x + self.norm(self.up(x)) * self.table


class Model(nn.Module):
    def __init__(self, look=lambda model, x: x):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(4, 4)
        self.layers = nn.ModuleList(Block() for _ in range(4))
        self.last = nn.BatchNorm1d(4)
        self.look = look

    def forward(self, x):
        x = self.look(self, self.first(x))
        for layer in self.layers:
            x = layer(x)
        return self.last(x)


def names_of(captured):
    return [n.meta["fqn"] for n in captured.graph_module.graph.nodes if n.op == "get_attr"]


def test_inputs_come_back_in_their_order():
    module = Model().eval()
    stamped, whole = capture(module, (X,)), capture(module, (X,), repeated_blocks="off")
    assert stamped.repeated_blocks.copies == 3
    assert names_of(stamped) == names_of(whole)
    assert "layers.3.table" in names_of(stamped)
    held = {n.meta["fqn"]: getattr(stamped.graph_module, str(n.target))
            for n in stamped.graph_module.graph.nodes if n.op == "get_attr"}  # fmt: skip
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        assert held[name].data_ptr() == tensor.data_ptr()


def test_the_module_has_its_tensors_again():
    module = Model().eval()
    before = {m: (m._parameters, m._buffers) for m in module.modules()}
    capture(module, (X,))
    assert all(m._parameters is p and m._buffers is b for m, (p, b) in before.items())


LOOKS = {
    "attribute": lambda m, x: x + m.layers[2].up.bias,
    "hasattr": lambda m, x: x + hasattr(m.layers[2].up, "bias"),
    "get": lambda m, x: x + (m.layers[2].up._parameters.get("bias") is not None),
    "count": lambda m, x: x + len(list(m.layers[2].parameters())),
    "len": lambda m, x: x + len(m.layers[2].up._parameters),
    "item": lambda m, x: x + m.layers[2].up._parameters["bias"],
    "iteration": lambda m, x: x + sum(1 for _ in m.layers[2].norm._buffers),
    "values": lambda m, x: x + len(m.layers[2].up._parameters.values()),
    "keys": lambda m, x: x + len(m.layers[2].up._parameters.keys()),
    "swallowed": lambda m, x: x + _tries(lambda: m.layers[2].up.bias.numel()),
    "reversed": lambda m, x: m.layers[3](x),
}


def _tries(function):
    try:
        return function()
    except Exception:  # noqa: BLE001 - as careless code does
        return 0


@pytest.mark.parametrize("look", LOOKS)
def test_whatever_looks_for_one_starts_again_with_all_in_sight(look):
    module = Model(LOOKS[look]).eval()
    captured = capture(module, (X,), repeated_blocks="verify")
    assert captured.repeated_blocks.whole_model is None
    assert captured.repeated_blocks.copies >= 3
    with torch.no_grad():
        torch.testing.assert_close(forge_ugc.compile(module, (X,))(X), module(X))


def test_writes_outside_of_blocks():
    module = Model(lambda m, x: x.clone().add_(m.last.running_mean.add_(1))).eval()
    assert (
        capture(copy.deepcopy(module), (X,), repeated_blocks="verify").repeated_blocks.copies == 3
    )
    compiled = forge_ugc.compile(copy.deepcopy(module), (X,))
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(X), module(X))


def test_looking_outside_of_a_call_is_as_at_no_tensors():
    module = Model().eval()
    flat = FlatModule(module, TensorLeaf(0), lambda m, x: m(x), lambda output: None)
    hidden = HiddenTensors(flat, find_blocks(module)[0])
    with hidden.out_of_sight():
        assert not [n for n, _ in module.named_parameters() if n.startswith("layers.1")]
        assert [n for n, _ in module.named_parameters() if n.startswith("layers.0")]
        assert not hidden.needed
    assert [n for n, _ in module.named_parameters() if n.startswith("layers.1")]


def test_weights_of_the_meta_device():
    module = Model().eval()
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    want = module(X).detach()
    compiled = forge_ugc.compile(
        module.to("meta"), (X,), weights=lambda name: state[name].detach().clone()
    )
    assert compiled.result.repeated_blocks.copies == 3
    torch.testing.assert_close(compiled(X), want)
