from pathlib import Path

import benchmarks.memory as memory
import pytest
from benchmarks.core.benchmark import Settings

from forge_ugc.evaluation.peers.workers import Worker, WorkerError

ROOT = Path(__file__).parents[2]


class FakeWorker:
    """Says what a worker would after compiling a model of 100 weights."""

    ready = {  # noqa: RUF012 - nobody changes it
        "linear_weights": 100, "build_seconds": 1.0, "details": {"arena bytes": 40},
    }  # fmt: skip

    def __init__(self, job, say):
        if job.precision == "int8":
            raise WorkerError("CannotBuildError: no int8 here")
        self.job = job

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def run(self, count):
        return [1] * count

    def ask(self, command):
        return {"peak_bytes": 10_000, "growth_bytes": 540, "exact": True}


def figures(monkeypatch, **settings):
    monkeypatch.setattr(memory, "Worker", FakeWorker)
    found = memory.Memory().run(Settings(quick=True, say=lambda text: None, **settings))
    return {(row.subject, row.metric): row for row in found}


def test_growth_is_set_against_weights_of_the_precision_and_the_arena(monkeypatch):
    got = figures(monkeypatch, models=("gpt2",), precisions=("fp32", "bf16"))
    ratio = got["gpt2, fp32", "growth / (weights + arena)"]
    assert (ratio.median, ratio.met) == (pytest.approx(540 / 440), True)
    ratio = got["gpt2, bf16", "growth / (weights + arena)"]
    assert (ratio.median, ratio.met) == (pytest.approx(540 / 240), False)
    assert got["gpt2, fp32", "peak"].ask is None


def test_a_compilation_that_fails_meets_nothing(monkeypatch):
    got = figures(monkeypatch, models=("llama-3.1-8b",))
    assert got["llama-3.1-8b, int8", "failure"].text == "CannotBuildError: no int8 here"
    for metric in ("growth / (weights + arena)", "peak"):
        assert got["llama-3.1-8b, int8", metric].met is False


@pytest.mark.slow
def test_a_real_worker_has_what_is_needed(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "support"))
    monkeypatch.setattr(memory, "_MODELS", ("fake_engines:model",))
    monkeypatch.setattr(memory, "Worker", Worker)
    settings = Settings(quick=True, say=print, models=("fake_engines:model",), precisions=("fp32",))
    got = {row.metric: row for row in memory.Memory().run(settings)}
    assert got["weights of linear layers"].median == 4 * (8 * 16 + 16 * 4)
    assert got["growth"].median < 64 << 20
