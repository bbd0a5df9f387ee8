"""Modules without data: weights from a provider, one at a time."""

import weakref

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc import Options
from forge_ugc.capture import capture, meta_weights
from forge_ugc.errors import InputError, OptionError

IDS = torch.tensor([[3, 1, 4, 1]])


class Net(nn.Module):
    """Tied embedding, a transposed and a halved weight, a buffer that forward reads, a state."""

    def __init__(self):
        super().__init__()
        self.embed, self.up = nn.Embedding(64, 32), nn.Linear(32, 64)
        self.turned = nn.Parameter(torch.randn(32, 32))
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.linspace(1, 2, 32), persistent=False)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, ids):
        self.calls.add_(1)
        x = self.embed(ids) * self.scale + torch.tensor([0.5])
        gate, up = self.up(x).chunk(2, -1)
        x = torch.nn.functional.silu(gate) * up @ self.turned
        return self.head(x) + self.calls


def net(device="cpu"):
    torch.manual_seed(0)
    with torch.device(device):
        return Net().eval()


class Provider:
    """Hands out copies; counts how many of the large ones are alive when it is asked."""

    def __init__(self, module):
        self.state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        self.asked, self.most, self._alive = [], 0, []

    def __call__(self, name):
        self.most = max(self.most, sum(ref() is not None for ref in self._alive))
        self.asked.append(name)
        memory = self.state[name].detach().numpy().copy()  # lives as long as the tensor's storage
        if memory.nbytes > 1024:
            self._alive.append(weakref.ref(memory))
        return torch.from_numpy(memory)


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(meta_weights, "_LOADED_AT_ONCE_BYTES", 1024)


@pytest.mark.parametrize("precision", [None, "bf16", "int8"])
def test_results_are_those_of_the_module_with_data(precision):
    real, meta = net(), net("meta")
    provider = Provider(net())
    options = Options(precision=precision, native=False)
    got = forge_ugc.compile(meta, (IDS,), options=options, weights=provider)
    want = forge_ugc.compile(real, (IDS,), options=options)
    for _ in range(2):
        assert torch.equal(got(IDS), want(IDS))
    assert sorted(provider.asked) == sorted(set(provider.asked))
    assert sorted(provider.asked) == sorted(provider.state)
    assert all(t.device.type == "meta" for t in (*meta.parameters(), *meta.buffers()))


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_a_large_weight_is_gone_before_the_next_is_asked_for(precision):
    provider = Provider(net())
    forge_ugc.compile(net("meta"), (IDS,), options=Options(precision=precision), weights=provider)
    assert len(provider.asked) == len(provider.state)
    assert provider.most == 0


def test_a_module_may_mix_both():
    real, mixed = net(), net()
    mixed.up.weight = nn.Parameter(torch.empty(64, 32, device="meta"))
    provider = Provider(net())
    compiled = forge_ugc.compile(mixed, (IDS,), weights=provider)
    torch.testing.assert_close(compiled(IDS), real(IDS))
    assert provider.asked == ["up.weight"]


def test_the_module_is_as_before_if_it_cannot_be_captured():
    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(4, 4)

        def forward(self, x):
            raise ValueError("no")

    module = Fails().to("meta")
    with pytest.raises(forge_ugc.ForgeError, match="cannot be captured"):
        capture(module, (torch.randn(2, 4),), weights=lambda name: None)
    assert module.up.weight.device.type == "meta"


@pytest.mark.parametrize(
    ("given", "what", "why"),
    [
        (lambda t: None, "the provider of weights returned no cpu tensor for 'weight'",
         "it is NoneType"),
        (lambda t: t.to("meta"), "the provider of weights returned no cpu tensor for 'weight'",
         "it is meta"),
        (lambda t: t[:1], "the provider of weights returned f32[1,4] for 'weight'",
         "the module has f32[3,4]"),
        (lambda t: t.double(), "the provider of weights returned f64[3,4] for 'weight'",
         "the module has f32[3,4]"),
    ],
)  # fmt: skip
def test_a_wrong_tensor_is_refused(given, what, why):
    module = nn.Linear(4, 3, bias=False).to("meta")
    with pytest.raises(InputError) as caught:
        forge_ugc.compile(
            module, (torch.randn(2, 4),), weights=lambda name: given(torch.randn(3, 4))
        )
    assert (caught.value.what, caught.value.why) == (what, why)


def test_another_layout_is_brought_to_the_modules_own():
    module, weight = nn.Linear(4, 3, bias=False).to("meta"), torch.randn(4, 3)
    x = torch.randn(2, 4)
    compiled = forge_ugc.compile(module, (x,), weights=lambda name: weight.t())
    torch.testing.assert_close(compiled(x), x @ weight)


def test_passes_are_not_verified_without_data():
    with pytest.raises(OptionError, match="before its weights are there"):
        forge_ugc.compile(
            nn.Linear(4, 3).to("meta"), (torch.randn(2, 4),),
            options=Options(verify_passes=True), weights=lambda name: torch.zeros(3, 4),
        )  # fmt: skip
