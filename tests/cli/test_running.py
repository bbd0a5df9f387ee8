import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from forge_ugc.profiling import machine as machines


def test_example_inputs_checked_against_eager(forge, model):
    document = forge("run", model, "--check", "--json")
    assert [(o["name"], o["type"]) for o in document["outputs"]] == [
        ("y", "f32[2,8]"), ("parts[0]", "f32[2]"),
    ]  # fmt: skip
    for output in document["outputs"]:
        assert output["max_abs_difference"] < 1e-5
        assert output["min"] <= output["mean"] <= output["max"]
    text = forge("run", model).stdout
    assert "parts[0]" in text
    assert "f32[2,8]" in text


@pytest.fixture
def artifact(forge, model):
    forge("compile", model, "-o", "net.forge")
    return "net.forge"


def test_inputs_and_outputs_of_an_artifact(forge, artifact):
    import forge_cli_user

    net, (x,), kwargs = forge_cli_user.build()
    save_file({"x": x + 1, **kwargs}, "in.safetensors")
    forge("run", artifact, "--inputs", "in.safetensors", "-o", "out.safetensors")
    with torch.no_grad():
        want = net(x + 1, **kwargs)
    got = load_file("out.safetensors")
    torch.testing.assert_close(got["y"], want["y"])
    torch.testing.assert_close(got["parts[0]"], want["parts"][0])


def test_wrong_inputs(forge, artifact):
    save_file({"x": torch.ones(2, 9), "scale": torch.ones(1)}, "in.safetensors")
    result = forge("run", artifact, "--inputs", "in.safetensors", exit_code=1)
    assert result.stderr.startswith("InputError: ")
    assert "f32[2,8]" in result.stderr
    result = forge("run", artifact, "--inputs", "none.safetensors", exit_code=1)
    assert "cannot read the inputs none.safetensors" in result.stderr
    result = forge("run", artifact, exit_code=1)
    assert "a .forge file needs inputs" in result.stderr
    assert "x: f32[2,8]" in result.stderr


def test_options_that_contradict_each_other(forge, artifact):
    result = forge("run", artifact, "--check", exit_code=1)
    assert "--check needs the model" in result.stderr
    result = forge("run", artifact, "--prompt", "a", "--check", exit_code=1)
    assert "--prompt goes without" in result.stderr
    result = forge("run", artifact, "--prompt", "a", exit_code=1)
    assert "net.forge has no tokenizer" in result.stderr
    result = forge("run", artifact, "--prompt", "a", "--tokenizer", "smollm2", exit_code=1)
    assert "the program does not take token ids alone" in result.stderr
    result = forge("run", "shape:gpt2", "--prompt", "a", exit_code=1)
    assert "shape:gpt2 has no tokenizer" in result.stderr


@pytest.mark.parametrize("option", ["target null", "tokens 8", "dtype bf16", "seed 1", "layers 2"])
def test_what_was_settled_at_compilation_is_refused_for_an_artifact(forge, artifact, option):
    result = forge("run", artifact, *f"--{option}".split(), exit_code=1)
    assert result.stderr == (
        f"OptionError: --{option} does not apply to a .forge file\n"
        "  why: the file holds one compiled program with its weights\n"
        "  fix: leave it out, or compile the model again with it\n"
    )


@pytest.mark.slow
def test_text_of_smollm2_from_model_and_artifact(forge, tmp_path):
    words = ("--prompt", "The capital of France is", "--max-new-tokens", "3")
    document = forge("run", "smollm2", *words, "--json")
    assert document["text"].startswith(" Paris")
    assert len(document["tokens"]) == 3
    text = forge("run", "smollm2", *words).stdout
    assert text.startswith("The capital of France is Paris")
    path = tmp_path / "smollm2.forge"
    forge("compile", "smollm2", "--tokens", "8", "-o", path)
    again = forge("run", path, "--tokenizer", "smollm2", *words, "--json")
    assert again["tokens"] == document["tokens"]


@pytest.fixture
def known_machine(monkeypatch):
    """A quick look at the machine."""
    known = machines.probe(1, seconds=0.1)
    monkeypatch.setattr(machines, "probe", lambda threads: known)


def test_a_profile_and_its_trace(forge, model, known_machine):
    document = forge("run", model, "--profile", "--trace", "trace.json", "--json")
    profile = document["profile"]
    totals = profile["totals"]
    parts = sum(value for name, value in totals.items() if name != "wall_ns")
    assert parts == pytest.approx(totals["wall_ns"])
    assert {row["opcode"] for row in profile["instructions"]} >= {"linear"}
    trace = json.loads(Path("trace.json").read_text(encoding="utf-8"))
    assert any(event["ph"] == "X" for event in trace["traceEvents"])
    text = forge("run", model, "--profile").stdout
    assert "barriers" in text
    assert "f32[2,16] linear(f32[2,8], f32[16,8], f32[16])" in text


def test_a_profile_of_an_artifact(forge, artifact, known_machine):
    save_file({"x": torch.ones(2, 8), "scale": torch.ones(1)}, "in.safetensors")
    document = forge("run", artifact, "--inputs", "in.safetensors", "--profile", "--json")
    assert document["profile"]["model"] == "Net"


def test_options_that_need_a_profile(forge, model):
    result = forge("run", model, "--trace", "t.json", exit_code=1)
    assert "--trace needs --profile" in result.stderr
    result = forge("run", model, "--profile", "--prompt", "a", exit_code=1)
    assert "--prompt goes without --inputs, --output, --check and --profile" in result.stderr
