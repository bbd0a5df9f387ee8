import gguf
import numpy as np
import pytest
import torch

from forge_ugc.errors import ArtifactError, OptionError
from forge_ugc.loaders import gguf_model, load_model


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
@pytest.mark.parametrize("tied", [True, False])
def test_weights_and_logits_equal_the_written_model(tmp_path, gguf_tools, kind, tied):
    module = gguf_tools.tiny(kind, tied=tied)
    gguf_tools.write(tmp_path / "m.gguf", module, kind=kind)
    loaded = load_model(str(tmp_path / "m.gguf"), tokens=9)
    assert type(loaded.module) is type(module)
    assert not loaded.module.training
    want = dict(module.named_parameters())
    got = dict(loaded.module.named_parameters())
    assert got.keys() == want.keys()
    for name, value in want.items():
        assert torch.equal(got[name], value), name
    (ids,) = loaded.args
    assert ids.shape == (1, 9)
    with torch.no_grad():
        assert torch.equal(loaded.module(ids).logits, module(ids, use_cache=False).logits)


def test_quantised_weights_are_those_of_the_gguf_package(tmp_path, gguf_tools):
    module = gguf_tools.tiny()
    gguf_tools.write(tmp_path / "m.gguf", module, quantise=gguf.GGMLQuantizationType.Q8_0)
    loaded = load_model(str(tmp_path / "m.gguf"), tokens=4).module
    weight = module.model.layers[0].mlp.down_proj.weight.detach().numpy()
    kind = gguf.GGMLQuantizationType.Q8_0
    want = gguf.quants.dequantize(gguf.quants.quantize(weight, kind), kind)
    got = loaded.model.layers[0].mlp.down_proj.weight.detach().numpy()
    assert np.array_equal(got, want)
    assert not np.array_equal(got, weight)


def test_rotary_factors_divide_the_frequencies(tmp_path, gguf_tools):
    module = gguf_tools.tiny()
    factors = np.array([1, 1, 1, 2, 4, 8, 8, 8], dtype=np.float32)
    gguf_tools.write(tmp_path / "m.gguf", module, extra=[("rope_freqs.weight", factors)])
    loaded = load_model(str(tmp_path / "m.gguf"), tokens=4).module
    want = module.model.rotary_emb.inv_freq / torch.from_numpy(factors)
    assert torch.equal(loaded.model.rotary_emb.inv_freq, want)


def test_dtype_is_applied_to_weights(tmp_path, gguf_tools):
    gguf_tools.write(tmp_path / "m.gguf", gguf_tools.tiny())
    loaded = load_model(str(tmp_path / "m.gguf"), tokens=4, dtype=torch.bfloat16).module
    assert {p.dtype for p in loaded.parameters()} == {torch.bfloat16}


def test_other_architectures_are_named_with_the_supported_ones(tmp_path, gguf_tools):
    path = tmp_path / "m.gguf"
    gguf_tools.write(path, gguf_tools.tiny(), kind="mamba")
    with pytest.raises(OptionError) as error:
        load_model(str(path))
    assert str(error.value) == (
        f"cannot load {path}\n  at: general.architecture\n  why: it is 'mamba'\n"
        "  fix: supported are llama, qwen2"
    )


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        (lambda w: w.add_rope_scaling_type(gguf.RopeScalingType.YARN), "rotary scaling is 'yarn'"),
        (lambda w: w.add_expert_count(8), "8 experts"),
    ],
)
def test_features_that_would_change_results_are_refused(tmp_path, gguf_tools, metadata, why):
    gguf_tools.write(tmp_path / "m.gguf", gguf_tools.tiny(), metadata=[metadata])
    with pytest.raises(OptionError, match=why):
        load_model(str(tmp_path / "m.gguf"))


def test_missing_extra_and_misshapen_tensors_are_refused(tmp_path, gguf_tools):
    path = tmp_path / "m.gguf"
    module = gguf_tools.tiny()
    gguf_tools.write(path, module, skip=["model.layers.1.mlp.up_proj.weight"])
    with pytest.raises(ArtifactError, match=r"lacks the tensor for model.layers.1.mlp.up_proj"):
        load_model(str(path))
    gguf_tools.write(path, module, extra=[("blk.0.ssm_a", np.ones(4, np.float32))])
    with pytest.raises(OptionError, match="LlamaForCausalLM has no such parameter"):
        load_model(str(path))
    gguf_tools.write(path, module, metadata=[lambda w: w.add_key_length(32)])
    with pytest.raises(ArtifactError, match=r"its shape is \(32, 32\), the metadata asks for"):
        load_model(str(path))


def test_truncated_tensor_data_is_refused(tmp_path, gguf_tools):
    path = tmp_path / "m.gguf"
    gguf_tools.write(path, gguf_tools.tiny())
    path.write_bytes(path.read_bytes()[:-4096])
    with pytest.raises(ArtifactError, match="it ends at byte"):
        load_model(str(path))


def test_options_that_a_file_cannot_meet(tmp_path, gguf_tools):
    gguf_tools.write(tmp_path / "m.gguf", gguf_tools.tiny())
    with pytest.raises(OptionError, match=r"layers=1 does not apply to the file m.gguf"):
        load_model(str(tmp_path / "m.gguf"), layers=1)
    with pytest.raises(OptionError, match="there is no file"):
        load_model(str(tmp_path / "none.gguf"))


@pytest.mark.slow
def test_smollm2_equals_the_loader_of_transformers():
    import transformers

    pytest.importorskip("accelerate")  # transformers' own GGUF loading needs it
    path = gguf_model.smollm2_path()
    want = transformers.AutoModelForCausalLM.from_pretrained(
        str(path.parent), gguf_file=path.name, dtype=torch.float32
    )
    got = load_model("smollm2", tokens=4).module
    theirs, ours = dict(want.named_parameters()), dict(got.named_parameters())
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert torch.equal(ours[name], value), name
    assert torch.equal(got.model.rotary_emb.inv_freq, want.model.rotary_emb.inv_freq)
