import json
from pathlib import Path

import pytest

import forge_ugc.evaluation.side_by_side as module
from forge_ugc.errors import OptionError
from forge_ugc.evaluation import comparison_page
from forge_ugc.evaluation.comparison_page import comparison_page as page_of
from forge_ugc.evaluation.comparison_tables import comparison_tables, setup_text
from forge_ugc.evaluation.fidelity import Fidelity
from forge_ugc.evaluation.peers.line_up import Entry
from forge_ugc.evaluation.peers.outcome import Outcome, Reference
from forge_ugc.evaluation.peers.workers import WorkerError
from forge_ugc.evaluation.side_by_side import Question, compare_engines, comparison_document

QUESTION = Question(
    model="m", against=("openvino", "eager", "onnxruntime"), threads=2, tokens=100, runs=4
)


def outcome(engine, times, seconds, *, forge=(), threads=2, **extra):
    return Outcome(
        Entry(engine, "fp32"), times_ms=list(times), forge_ms=list(forge),
        ready={"threads": threads, "versions": {engine: "1.0"}, "vocabulary": 9},
        cold={"phases": {"export": seconds - 0.5, "first call": 0.5}, "seconds": seconds},
        memory={"peak_bytes": 2 << 20, "growth_bytes": 1 << 20}, artifact_bytes=3 << 20,
        fidelity=Fidelity(
            positions=1, max_abs_difference=1e-5, mean_kl=1e-9, max_kl=1e-9, same_choice=1.0
        ),
        energy={"missing": "no counter"}, **extra,
    )  # fmt: skip


@pytest.fixture
def compared(monkeypatch):
    """A comparison whose session measures what it is given."""

    def compare(*outcomes, question=QUESTION, absent=()):
        class Session:
            def __init__(self, **settings):
                assert settings["thorough"]
                assert settings["threads"] == question.threads

            def reference(self, model):
                return Reference(output=Path("x"), linears=[], parameters=10**6, logits=True)

            def measure(self, model, ours, peers, reference):
                assert ours == Entry("forge", question.precision)
                assert not {peer.engine for peer in peers} & set(absent)
                return list(outcomes)

        class Engine:
            def __init__(self, name):
                self.name = name

            def missing(self):
                return ("pkg",) if self.name in absent else ()

        monkeypatch.setattr(module, "Session", Session)
        monkeypatch.setattr(module, "find", Engine)
        return compare_engines(question, print)

    return compare


def all_of_them(compared):
    return compared(
        outcome("forge", [10.0, 10.0, 10.0, 12.0], 2.0),
        outcome("openvino", [15.0] * 4, 8.0, forge=[10.0]),
        outcome("eager", [30.0] * 4, 0.5, forge=[10.0], threads=1),
        absent=("onnxruntime",),
    )


def test_lines_hold_ratios_to_ours_and_failures(compared):
    ours, openvino, eager, onnxruntime = all_of_them(compared).lines
    assert (ours.median_ms, ours.ratio, ours.cei) == (10.0, None, None)
    assert ours.tokens_per_second == pytest.approx(10_000)
    assert openvino.ratio == pytest.approx(1.5)
    assert openvino.compile_ratio == pytest.approx(4.0)
    assert openvino.cei == pytest.approx(0.75)
    assert eager.failure == "it runs with 1 threads, not with 2"
    assert onnxruntime.failure == "not installed: pkg; pip install 'forge-ugc[peers]'"


def test_peers_are_measured_when_ours_fails(compared):
    ours, peer, *_ = compared(
        Outcome(Entry("forge", "fp32"), failure="no kernel"),
        outcome("openvino", [15.0], 8.0),
        outcome("eager", [15.0], 8.0),
        outcome("onnxruntime", [15.0], 8.0),
    ).lines
    assert ours.failure == "no kernel"
    assert (peer.median_ms, peer.ratio, peer.cei, peer.compile_ratio) == (15.0, None, None, None)


def test_the_document_is_plain_json(compared):
    document = json.loads(json.dumps(comparison_document(all_of_them(compared))))
    assert (document["version"], document["precision"], document["threads"]) == (1, "fp32", 2)
    ours, openvino, eager, _ = document["engines"]
    assert set(ours) == set(openvino) == set(eager)
    assert ours["phase_seconds"] == {"export": 1.5, "first call": 0.5}
    assert ours["p99_ms"] == pytest.approx(11.94)
    assert openvino["energy_note"] == "no counter"
    assert openvino["joules_a_call"] is None
    assert eager["median_ms"] is None


def test_tables_and_page(compared, monkeypatch):
    comparison = all_of_them(compared)
    assert setup_text(comparison) == (
        "m: 1.0 M parameters; every engine in fp32 with 2 threads; 4 timed calls in turn"
    )
    compile_time, speed, size, failed = comparison_tables(comparison)
    assert compile_time.rows[1] == (
        "openvino", "7.500 s", "", "", "0.500 s", "8.000 s", "4.00x", "0.75",
    )  # fmt: skip
    assert speed.rows[1] == (
        "openvino",
        "2",
        "15.00 ms",
        "15.00 ms",
        "1.50x",
        "6,667",
        "no counter",
    )
    assert size.rows[0] == ("forge", "2.0 MiB", "1.0 MiB", "3.0 MiB", "1e-05", "1e-09")
    assert [row[0] for row in failed.rows] == ["eager", "onnxruntime"]
    assert page_of(comparison).count("<svg") == 2
    monkeypatch.setattr(comparison_page, "can_plot", lambda: False)
    assert "No charts: they need matplotlib" in page_of(comparison)


def test_questions_that_make_no_sense():
    with pytest.raises(OptionError, match=r"no engine to measure against is called 'tvm'\n  fix: "):
        Question(model="m", against=("tvm",))
    with pytest.raises(OptionError, match="is called 'forge'"):
        Question(model="m", against=("forge",))
    with pytest.raises(OptionError, match="no precision is called 'fp8'"):
        Question(model="m", precision="fp8")
    assert len(Question(model="m").peers) == 5


def test_a_model_that_does_not_run_is_an_error(monkeypatch):
    class Session:
        def __init__(self, **settings):
            pass

        def reference(self, model):
            raise WorkerError("OptionError: no shape is called 'x'")

    monkeypatch.setattr(module, "Session", Session)
    with pytest.raises(OptionError, match=r"m cannot be run in PyTorch[^\n]*\n  why: OptionError"):
        compare_engines(QUESTION, print)
