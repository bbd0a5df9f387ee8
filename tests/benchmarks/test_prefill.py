import os
from pathlib import Path

import benchmarks.prefill as prefill
import numpy as np
import pytest
from benchmarks.core.benchmark import Settings
from benchmarks.core.measurement import Subject
from benchmarks.core.prefill_rows import rows
from benchmarks.core.roofline import Peaks, gemm_seconds

import forge_ugc.evaluation.peers.session as session_module
from forge_ugc.evaluation.fidelity import Fidelity
from forge_ugc.evaluation.peers import line_up
from forge_ugc.evaluation.peers.engine import CannotBuildError, find, registered
from forge_ugc.evaluation.peers.line_up import PEERS, Entry, groups
from forge_ugc.evaluation.peers.outcome import Outcome, Reference, fastest
from forge_ugc.evaluation.peers.session import Session

ROOT = Path(__file__).parents[2]
OURS = Entry("forge", "bf16")
PEAKS = Peaks(threads=2, f32=1e12, bf16=2e12, int8=4e12, read=1e10)
REFERENCE = Reference(
    output=Path("none"), linears=[(100, 10**4, 10**4)], parameters=10**8, logits=True
)


def fidelity(difference):
    return Fidelity(
        positions=1, max_abs_difference=difference, mean_kl=difference / 10, max_kl=difference,
        same_choice=1.0,
    )  # fmt: skip


def outcome(engine, precision, times, *, forge=(), difference=0.5, **extra):
    return Outcome(
        entry=Entry(engine, precision), times_ms=list(times), forge_ms=list(forge),
        ready={"build_seconds": 1.5, "details": {"host instructions": 0}, "versions": {}},
        memory={"peak_bytes": 2 << 20, "growth_bytes": 1 << 20}, fidelity=fidelity(difference),
        **extra,
    )  # fmt: skip


def test_every_peer_is_an_engine():
    used = {entry.engine for entries in PEERS.values() for entry in entries}
    assert used | {"forge", "openvino_onnx"} == set(registered())  # which is for compile time
    for name, cls in registered().items():
        assert cls.__module__ == f"forge_ugc.evaluation.peers.engines.{name}"
        assert cls.__doc__
    with pytest.raises(CannotBuildError, match="no engine is called 'tvm'; choose from eager,"):
        find("tvm")


def test_engines_run_in_one_group_or_in_pairs_as_memory_allows():
    peers = PEERS["fp32"]
    assert list(groups(OURS, peers, weight_bytes=1 << 20, available_bytes=8 << 30)) == [
        (OURS, *peers)
    ]
    pairs = list(groups(OURS, peers, weight_bytes=4 << 30, available_bytes=20 << 30))
    assert pairs == [(OURS, peer) for peer in peers]
    assert line_up.available_bytes() > 0


def test_the_roofline_takes_the_slower_of_arithmetic_and_memory():
    linears = [(1000, 1000, 1000), (1, 1000, 1000)]
    assert gemm_seconds(linears, "fp32", PEAKS) == pytest.approx(2e9 / 1e12 + 4e6 / 1e10)
    assert gemm_seconds(linears, "int8", PEAKS) == pytest.approx(2e9 / 4e12 + 1e6 / 1e10)


def test_the_fastest_peer_is_that_of_the_same_interleaving():
    slow_day = outcome("eager", "bf16", [30.0], forge=[20.0])
    quiet_day = outcome("openvino", "bf16", [20.0], forge=[10.0])
    broken = outcome("inductor", "bf16", [1.0], failure="no compiler")
    assert fastest([slow_day, quiet_day, broken]) is slow_day
    assert fastest([broken]) is None


def found(precision, *outcomes):
    all_rows = rows("m", precision, outcomes, REFERENCE, PEAKS)
    return {(row.table, row.subject, row.metric): row for row in all_rows}


def test_rows_say_what_was_asked_and_reached():
    got = found(
        "bf16",
        outcome("forge", "bf16", [10.0] * 50, difference=0.25),
        outcome("eager", "bf16", [30.0] * 50, forge=[10.0], difference=0.5),
        outcome("openvino", "default", [12.0] * 50, forge=[10.0]),
    )
    table = "bf16: median latency"
    assert got[table, "m", "fastest peer"].text == "openvino default"
    ratio = got[table, "m", "fastest peer / forge"]
    assert (ratio.median, ratio.met) == (pytest.approx(1.2), False)
    # 2e10 operations take 10 ms at 2e12, 2e8 bytes take 20 ms at 1e10.
    share = got[table, "m", "roofline / forge"]
    assert (share.median, share.met) == (pytest.approx(2.0), True)
    assert got[table, "m", "host instructions"].met
    assert got["bf16: every engine", "m, forge", "P99 / P50"].met
    assert got["bf16: every engine", "m, eager bf16", "P99 / P50"].ask is None
    beside = "bf16: fidelity of forge over that of eager bf16"
    assert got[beside, "m", "largest difference"].median == 0.5
    assert got[beside, "m", "mean KL"].met


def test_a_peer_that_fails_is_a_row_and_ours_that_fails_meets_nothing():
    got = found(
        "int8",
        Outcome(Entry("forge", "int8"), failure="no int8 yet"),
        outcome("openvino", "default", [12.0] * 50),
        Outcome(Entry("onnxruntime", "int8"), failure="out of memory"),
    )
    table = "int8: median latency"
    assert got[table, "m", "onnxruntime int8"].text == "failed"
    assert got["Failures", "m, int8, onnxruntime int8", "message"].text == "out of memory"
    for metric in ("openvino default / forge", "host instructions", "roofline / forge"):
        row = got[table, "m", metric]
        assert (row.text, row.met) == ("not measured", False), metric
    assert got[table, "m", "fastest peer"].text == "none ran"  # in int8


def test_settings_choose_models_and_precisions():
    settings = Settings(quick=True, say=print, models=("gpt2", "smollm2"), precisions=("int8",))
    assert settings.choose(prefill.MODELS) == ("shape:gpt2", "smollm2")
    assert settings.choose_precisions(tuple(PEERS)) == ("int8",)
    assert Settings(quick=True, say=print).choose(prefill.MODELS) == prefill.MODELS


def session(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "support"))
    return Session(
        folder=tmp_path, runs=3, warm_ups=1, block=2, threads=1, layers=None, say=lambda text: None
    )


class FakeWorker:
    """Takes one millisecond a call, ours two; remembers what is alive together."""

    alive = []  # noqa: RUF012 - shared on purpose
    most = 0

    def __init__(self, job, say):
        self.job, self.pid, self.ready = job, os.getpid(), {"parameters": 1, "vocabulary": 4}
        self.alive.append(job.engine)
        FakeWorker.most = max(FakeWorker.most, len(self.alive))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.alive.remove(self.job.engine)

    def run(self, count):
        return [(2 if self.job.engine == "forge" else 1) * 1_000_000] * count

    def ask(self, question):
        if question == "memory":
            return {"peak_bytes": 1, "growth_bytes": 1, "exact": True}
        np.save(question.removeprefix("output "), np.ones((1, 4), dtype=np.float32))
        return {"shape": [1, 4]}


@pytest.mark.parametrize(("memory", "most", "runs"), [(64 << 30, 5, 3), (0, 2, 12)])
def test_engines_that_do_not_fit_run_in_pairs(memory, most, runs, tmp_path, monkeypatch):
    monkeypatch.setattr(session_module, "Worker", FakeWorker)
    monkeypatch.setattr(session_module, "available_bytes", lambda: memory)
    monkeypatch.setattr(FakeWorker, "most", 0)
    output = tmp_path / "reference.npy"
    np.save(output, np.ones((1, 4), dtype=np.float32))
    reference = Reference(output=output, linears=[], parameters=1, logits=True)
    run = session(tmp_path, monkeypatch)
    ours, *peers = run.measure("m", Entry("forge", "fp32"), PEERS["fp32"], reference)
    assert (FakeWorker.most, FakeWorker.alive) == (most, [])
    assert len(ours.times_ms) == runs
    assert [(len(p.times_ms), len(p.forge_ms), p.ratio) for p in peers] == [(3, 3, 0.5)] * 4
    assert {o.fidelity.max_abs_difference for o in (ours, *peers)} == {0.0}


@pytest.mark.slow
def test_a_session_runs_ours_beside_peers_that_fail_at_any_time(tmp_path, monkeypatch):
    run = session(tmp_path, monkeypatch)
    model = "fake_engines:model"
    reference = run.reference(model)
    assert reference.linears == [(3, 8, 16), (3, 16, 4)]
    assert not reference.logits
    peers = [Entry(f"fake_engines:{name}", "fp32") for name in ("Doubling", "Refusing", "Dying")]
    ours, doubling, refusing, dying = run.measure(model, Entry("forge", "fp32"), peers, reference)
    assert len(ours.times_ms) == len(doubling.times_ms) == 3
    assert doubling.forge_ms == ours.times_ms
    assert ours.fidelity.max_abs_difference < 1e-6
    assert doubling.fidelity.max_abs_difference > 0.01
    assert refusing.failure == "CannotBuildError: no fp32 here"
    assert "SIGKILL" in dying.failure
    assert doubling.ratio > 0


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_a_failure(monkeypatch):
    monkeypatch.setattr(prefill, "MODELS", ("shape:nothing",))
    got = list(prefill.Prefill().run(Settings(quick=True, say=lambda text: None)))
    assert got[0].subject == "nothing, eager fp32 as reference"
    assert got[0].text.startswith("OptionError: no shape is called 'nothing'")
    assert got[-1] == Subject("Setup of the engines", "load average after").note(
        "value", got[-1].text
    )
