import json

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.errors import OptionError
from forge_ugc.loaders import load_model, shapes

MODULE = """
import torch
from torch import nn

def pair():
    return nn.Linear(3, 2).train(), (torch.ones(1, 3),)

def triple():
    return nn.Linear(3, 2), [], {"input": torch.ones(1, 3)}

def wrong():
    return nn.Linear(3, 2)

def wrong_args():
    return nn.Linear(3, 2), torch.ones(1, 3)
"""


@pytest.fixture
def user_module(tmp_path, monkeypatch):
    (tmp_path / "forge_test_user.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_function_forms(user_module):
    loaded = load_model("forge_test_user:pair")
    assert isinstance(loaded.module, nn.Linear)
    assert not loaded.module.training
    assert loaded.args[0].shape == (1, 3)
    assert loaded.kwargs == {}
    assert load_model("forge_test_user:pair", dtype=torch.float64).module.weight.dtype == (
        torch.float64
    )
    assert load_model("forge_test_user:triple").kwargs["input"].shape == (1, 3)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("forge_test_user:wrong", "forge_test_user:wrong returned Linear"),
        ("forge_test_user:wrong_args", r"returned \(Linear, Tensor, ...\)"),
        ("forge_test_user:absent", "has no attribute 'absent'"),
        ("forge_test_none:f", "No module named 'forge_test_none'"),
    ],
)
def test_function_faults(user_module, spec, message):
    with pytest.raises(OptionError, match=message):
        load_model(spec)


def test_shapes_have_the_published_parameter_counts():
    millions = {
        "gpt2": 124.4, "granite-350m": 354.5, "qwen2-0.5b": 494.0, "llama-3.2-1b": 1235.8,
        "lfm2-2.6b": 2569.3, "llama-3.1-8b": 8030.3, "smollm2": 134.5, "bert-base": 109.5,
        "minilm": 22.7,
    }  # fmt: skip
    for name, want in millions.items():
        module = load_model(f"shape:{name}", empty=True, dtype=torch.bfloat16).module
        assert round(sum(p.numel() for p in module.parameters()) / 1e6, 1) == want, name
        assert not module.training
    assert set(millions) <= set(shapes.names())


def test_empty_weights_take_no_memory_and_buffers_are_true():
    def resident_bytes():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    before = resident_bytes()
    empty = load_model("shape:llama-3.2-1b", empty=True).module
    assert resident_bytes() - before < 200e6  # 4.9 GB of weights
    small = load_model("shape:llama-3.2-1b", layers=1, empty=True).module
    assert len(small.model.layers) == 1
    got, scaled = empty.model.rotary_emb.inv_freq, small.model.rotary_emb.inv_freq
    assert torch.equal(got, scaled)
    assert got[0] == 1.0
    plain = 500000.0 ** (-torch.arange(0, 64, 2) / 64)
    assert torch.allclose(got[-1], plain[-1] / 32)  # llama3 scaling, factor 32
    assert torch.equal(empty.model.norm.weight, torch.ones(2048))


def test_random_weights_depend_on_the_seed_alone():
    state = torch.random.get_rng_state()
    first = load_model("shape:minilm", layers=1, seed=5)
    torch.randn(3)
    again = load_model("shape:minilm", layers=1, seed=5)
    other = load_model("shape:minilm", layers=1, seed=6)
    torch.random.set_rng_state(state)
    name = "encoder.layer.0.output.dense.weight"
    weight = first.module.get_parameter(name)
    assert torch.equal(weight, again.module.get_parameter(name))
    assert not torch.equal(weight, other.module.get_parameter(name))
    assert torch.equal(first.args[0], again.args[0])
    assert torch.equal(torch.random.get_rng_state(), state)


def test_encoders_get_an_attention_mask_and_decoders_no_cache():
    encoder = load_model("shape:minilm", layers=1, empty=True, tokens=7)
    assert encoder.args[0].shape == (1, 7)
    assert torch.equal(encoder.kwargs["attention_mask"], torch.ones(1, 7, dtype=torch.int64))
    decoder = load_model("shape:gpt2", layers=1, tokens=7)
    assert not decoder.kwargs
    assert decoder.module(*decoder.args).past_key_values is None


def test_attention_implementation():
    loaded = load_model("shape:gpt2", layers=1, empty=True, attention="eager")
    assert loaded.module.config._attn_implementation == "eager"


def test_config_files_and_folders(tmp_path):
    config = {
        "model_type": "gpt2", "n_embd": 32, "n_layer": 3, "n_head": 2, "vocab_size": 50,
        "n_positions": 16,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    for spec in (f"config:{tmp_path}", f"config:{tmp_path}/config.json", str(tmp_path)):
        loaded = load_model(spec, tokens=8)
        assert type(loaded.module).__name__ == "GPT2LMHeadModel"
        assert len(loaded.module.transformer.h) == 3
        assert loaded.tokenizer is None
    assert len(load_model(str(tmp_path), tokens=8, layers=2).module.transformer.h) == 2
    with pytest.raises(OptionError, match="tokens is 17, the model has positions for 16"):
        load_model(str(tmp_path), tokens=17)


def test_folder_with_weights_round_trips(tmp_path):
    source = load_model("shape:minilm", layers=1, seed=1).module
    source.save_pretrained(tmp_path)
    loaded = load_model(str(tmp_path), tokens=5)
    for name, value in source.named_parameters():
        assert torch.equal(loaded.module.get_parameter(name), value)
    assert loaded.tokenizer is None
    assert "no tokenizer" in loaded.description
    with pytest.raises(OptionError, match="layers=2 does not apply to the released weights"):
        load_model(str(tmp_path), layers=2)


def test_names_that_lead_nowhere(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(OptionError, match="cannot load the model 'no-such/model'"):
        load_model("no-such/model")
    with pytest.raises(OptionError, match=r"no shape is called 'gpt5'\n  fix: choose from gpt2"):
        load_model("shape:gpt5")
    with pytest.raises(OptionError, match="there is no file"):
        load_model(f"config:{tmp_path}/none.json")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(OptionError, match="cannot load the model"):
        load_model(f"config:{tmp_path}")
    with pytest.raises(OptionError, match="tokens is 0, expected at least 1"):
        load_model("shape:gpt2", tokens=0)


def test_a_missing_package_is_named_with_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(OptionError) as error:
        load_model("shape:gpt2")
    assert "needs the package 'transformers'" in str(error.value)
    assert "pip install 'forge-ugc[hf]'" in str(error.value)


def test_smollm2_writes_english():
    loaded = load_model("smollm2", tokens=16)
    ids = loaded.tokenizer.encode("The capital of France is")
    assert loaded.tokenizer.decode(ids) == "The capital of France is"
    with torch.no_grad():
        logits = loaded.module(torch.tensor([ids])).logits
    assert loaded.tokenizer.decode([int(logits[0, -1].argmax())]) == " Paris"


def test_a_compiled_program_is_no_model():
    with pytest.raises(OptionError) as caught:
        load_model("mlp.forge")
    assert str(caught.value) == (
        "mlp.forge is a compiled program, not a model\n"
        "  fix: use `forge-ugc run` or `forge-ugc inspect`, or forge_ugc.load() in Python"
    )


def test_lazy_weights_are_made_when_they_are_asked_for():
    loaded = load_model("shape:minilm", layers=1, lazy=True, seed=5, tokens=8)
    module, name = loaded.module, "encoder.layer.0.output.dense.weight"
    assert module.get_parameter(name).device.type == "meta"
    assert module.get_parameter("encoder.layer.0.output.dense.bias").device.type == "cpu"
    weight = loaded.weights(name)
    assert weight.shape == module.get_parameter(name).shape
    assert torch.equal(weight, loaded.weights(name))
    assert not torch.equal(weight, load_model("shape:minilm", lazy=True).weights(name))
    compiled = forge_ugc.compile(
        module, loaded.args, loaded.kwargs, weights=loaded.weights,
        options=forge_ugc.Options(precision="int8"),
    )  # fmt: skip
    assert compiled(*loaded.args, **loaded.kwargs).last_hidden_state.isfinite().all()
    assert load_model("shape:minilm", layers=1).weights is None
    with pytest.raises(OptionError, match="lazy=True does not apply"):
        load_model("smollm2", lazy=True)
