import pytest


def test_what_is_refused_at_once(forge, tmp_path):
    result = forge("bench", "shape:gpt2", "--against", "tvm", exit_code=1)
    assert "no engine to measure against is called 'tvm'" in result.stderr
    assert "openvino_onnx" in result.stderr
    result = forge("bench", "shape:gpt2", "--precision", "fp8", exit_code=1)
    assert "choose from fp32, bf16, int8" in result.stderr
    result = forge("bench", "shape:gpt2", "-o", tmp_path / "none" / "x.html", exit_code=1)
    assert "its folder does not exist" in result.stderr


def test_help_shows_examples(forge):
    text = forge("bench", "--help").stdout
    assert "forge-ugc bench smollm2 --against openvino,onnxruntime" in text


@pytest.mark.slow
def test_a_model_beside_pytorch(forge, model, tmp_path):
    page = tmp_path / "page.html"
    document = forge(
        "bench", model, "--against", "eager", "--runs", 3, "--threads", 1, "--json", "-o", page
    )
    assert (document["model"], document["threads"], document["runs"]) == (model, 1, 3)
    ours, eager = document["engines"]
    assert (ours["engine"], eager["engine"]) == ("forge", "eager")
    for line in (ours, eager):
        assert line["failure"] is None
        assert line["threads"] == 1
        assert line["median_ms"] > 0
        assert line["peak_bytes"] > line["growth_bytes"] >= 0
        assert line["energy_note"] or line["joules_a_call"] > 0
    assert set(ours["phase_seconds"]) == {"export", "convert", "compile", "first call"}
    assert ours["compile_seconds"] == pytest.approx(sum(ours["phase_seconds"].values()))
    assert ours["artifact_bytes"] > 0
    assert eager["artifact_bytes"] is None
    assert eager["max_abs_difference"] == 0.0
    assert ours["max_abs_difference"] < 1e-5
    assert eager["latency_ratio"] == pytest.approx(eager["median_ms"] / ours["median_ms"])
    assert "Compile time" in page.read_text()


@pytest.mark.slow
def test_engines_that_refuse_the_precision_are_listed(forge, model):
    text = forge(
        "bench", model, "--against", "onnxruntime", "--precision", "bf16", "--runs", 2
    ).stdout
    assert "Not measured" in text
    assert "onnxruntime" in text
