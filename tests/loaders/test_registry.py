"""Every published shape loads by its name and computes what eager does."""

import pytest
import torch

import forge_ugc
from forge_ugc.errors import OptionError
from forge_ugc.loaders import load_model, shapes
from forge_ugc.loaders.jet_tagger import JetTagger

SMALL = ("vit-b", "whisper-tiny-encoder", "jet-tagger", "bert-base", "minilm", "gpt2", "smollm2")
# Vocabularies of 10^5 and layers of 10^7 to 10^8 parameters.
LARGE = tuple(name for name in shapes.names() if name not in SMALL)


def first(output):
    return output if isinstance(output, torch.Tensor) else output[0]


def agrees(name):
    loaded = load_model(f"shape:{name}", layers=1, tokens=16)
    compiled = forge_ugc.compile(loaded.module, loaded.args, loaded.kwargs)
    with torch.no_grad():
        want = first(loaded.module(*loaded.args, **loaded.kwargs))
    got = first(compiled(*loaded.args, **loaded.kwargs))
    assert got.shape == want.shape
    assert float((got - want).abs().max()) <= 1e-4 * float(want.abs().max())
    assert float(want.std()) > 0
    return loaded, got


@pytest.mark.parametrize("name", SMALL)
def test_a_layer_of_every_small_shape_computes_what_eager_does(name):
    agrees(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in LARGE if n != "llama-3.1-8b"])
def test_a_layer_of_every_large_shape_computes_what_eager_does(name):
    agrees(name)


def test_inputs_that_are_no_tokens():
    loaded, got = agrees("vit-b")
    assert loaded.kwargs["pixel_values"].shape == (1, 3, 224, 224)
    assert got.shape == (1, 1000)
    loaded, got = agrees("whisper-tiny-encoder")
    assert loaded.kwargs["input_features"].shape == (1, 80, 3000)
    assert got.shape == (1, 1500, 384)
    loaded, got = agrees("jet-tagger")
    assert loaded.args[0].shape == (1, 160, 8)
    assert got.shape == (1, 5)


def test_the_released_sizes():
    millions = {"vit-b": 86.6, "whisper-tiny-encoder": 8.2}
    for name, want in millions.items():
        module = load_model(f"shape:{name}", empty=True).module
        assert round(sum(p.numel() for p in module.parameters()) / 1e6, 1) == want, name


def test_the_jet_tagger_is_seeded_and_refuses_what_it_has_not():
    once, again, other = (load_model("shape:jet-tagger", seed=s).module for s in (1, 1, 2))
    assert torch.equal(once.embed.weight, again.embed.weight)
    assert not torch.equal(once.embed.weight, other.embed.weight)
    assert isinstance(once, JetTagger)
    assert len(once.blocks) == 2
    assert len(load_model("shape:jet-tagger", layers=3).module.blocks) == 3
    with pytest.raises(OptionError, match="attention=eager does not apply to shape jet-tagger"):
        load_model("shape:jet-tagger", attention="eager")
