import pytest
from benchmarks import compile_beside
from benchmarks.compile_beside import MODELS, CompileBeside
from benchmarks.core.benchmark import Settings

from forge_ugc.evaluation.peers.interleave import Timing
from forge_ugc.evaluation.peers.workers import WorkerError
from forge_ugc.loaders import shapes

SECONDS = {"forge": 1.0, "openvino_onnx": 10.0, "onnxruntime": 8.0, "openvino": 7.0}


class FakeWorker:
    """Compiles in the seconds above; Inductor always fails."""

    started = []  # noqa: RUF012 - shared on purpose

    def __init__(self, job, say):
        self.started.append(job)
        if job.engine == "inductor":
            raise WorkerError("no compiler")
        self.engine, self.closed = job.engine, False
        self.ready = {"versions": {job.engine: "1.0"}}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.closed = True

    def ask(self, question):
        assert question == "cold"
        seconds = SECONDS[self.engine]
        phases = {"export": 0.75 * seconds, "first call": 0.25 * seconds}
        return {"phases": phases, "seconds": seconds, "call_seconds": 0.01}


def interleave(workers, *, runs, warm_ups):
    assert next(iter(workers)) == "forge"
    assert not any(worker.closed for worker in workers.values())
    return {n: Timing(nanoseconds=[10 if n == "forge" else 30] * runs) for n in workers}


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.setattr(FakeWorker, "started", [])
    monkeypatch.setattr(compile_beside, "Worker", FakeWorker)
    monkeypatch.setattr(compile_beside, "interleave", interleave)

    def run(*models, quick=False):
        settings = Settings(quick=quick, say=lambda text: None, models=models)
        found = list(CompileBeside().run(settings))
        return {(row.table, row.subject, row.metric): row for row in found}

    return run


def test_ratios_are_taken_within_a_repeat_and_set_against_what_was_asked(measured):
    got = measured("gpt2", "minilm")
    ratio = got["Peer / forge", "gpt2", "openvino_onnx"]
    assert (ratio.n, ratio.median, ratio.met) == (3, 10.0, True)
    assert ratio.published == pytest.approx(6.93)
    assert got["Peer / forge", "gpt2", "onnxruntime"].met is False
    assert got["Peer / forge", "gpt2", "openvino"].met
    assert got["Peer / forge", "minilm", "openvino_onnx"].ask is None
    mean = got["Peer / forge", "geometric mean of the published shapes", "openvino_onnx"]
    assert (mean.median, mean.met) == (pytest.approx(10.0), False)
    assert got["Compile time", "gpt2", "onnxruntime"].published == 7.271
    assert got["Phases", "gpt2, forge", "first call"].median == 0.25
    assert got["Phases", "gpt2, forge", "convert"].median == 0.0
    assert got["CEI", "gpt2", "CEI against openvino"].median == pytest.approx(3.0)


def test_a_peer_that_fails_meets_nothing_and_is_not_tried_again(measured):
    got = measured("gpt2")
    assert got["Failures", "gpt2, inductor", "message"].text == "no compiler"
    assert got["Compile time", "gpt2", "inductor"].text == "failed"
    assert got["Peer / forge", "gpt2", "inductor"].met is False
    assert ("CEI", "gpt2", "CEI against inductor") not in got
    engines = [job.engine for job in FakeWorker.started]
    assert engines.count("inductor") == 1
    assert engines.count("forge") == engines.count("openvino") == 3
    assert all(job.within_memory for job in FakeWorker.started)


def test_ours_that_fails_meets_nothing(measured, monkeypatch):
    monkeypatch.delitem(SECONDS, "forge")
    monkeypatch.setattr(FakeWorker, "ask", failing(FakeWorker.ask))
    got = measured("gpt2", quick=True)
    assert got["Compile time", "gpt2", "forge"].text == "failed"
    assert got["Compile time", "gpt2", "openvino"].median == 7.0
    assert got["Peer / forge", "gpt2", "openvino"].met is False


def failing(ask):
    def fail(self, question):
        if self.engine == "forge":
            raise WorkerError("killed")
        return ask(self, question)

    return fail


def test_the_registry_has_every_model_that_was_asked_for():
    specs = {model.spec.removeprefix("shape:") for model in MODELS}
    assert specs <= set(shapes.names())
    assert sum(model.published is not None for model in MODELS) == 5
    assert {"smollm2", "bert-base", "minilm", "vit-b", "whisper-tiny-encoder"} <= specs
