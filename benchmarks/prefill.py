"""Latency of a prompt of 128 tokens, beside other engines in one run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.core.benchmark import Benchmark, Chart, Settings, benchmark
from benchmarks.core.measurement import Measurement, Subject
from benchmarks.core.prefill_rows import rows
from benchmarks.core.roofline import measure_peaks
from forge_ugc.evaluation.peers.line_up import PEERS, Entry
from forge_ugc.evaluation.peers.outcome import Outcome
from forge_ugc.evaluation.peers.session import Session
from forge_ugc.evaluation.peers.workers import WorkerError

MODELS = (
    "shape:gpt2", "smollm2", "shape:bert-base", "shape:minilm", "shape:granite-350m",
    "shape:qwen2-0.5b", "shape:llama-3.2-1b",
)  # fmt: skip
_THREADS = 2


@benchmark("prefill")
class Prefill(Benchmark):
    """Batch 1, 128 tokens, logits of all positions (encoders: the last hidden states), no cache.

    SmolLM2 has its published weights, all others random ones. Every engine builds the model in a
    process of its own with two threads, from the same PyTorch module in float32, and then sleeps
    until it is its turn: 10 warm-up calls each, then 50 timed calls in blocks of five, A B C A B C.
    The first call of a block is not counted, because the caches hold another engine's data then.
    A model too large for memory is run in pairs, forge and one peer at a time; ratios are always
    those of one interleaving. *Engine / forge* above 1 means that forge is faster.

    openvino reads `torch.export`'s program; *default* leaves the precision to it (see *how*), int8
    is NNCF's static quantisation, int8-weights NNCF's compression of weights with activations
    quantised by OpenVINO. onnxruntime reads `torch.onnx.export(dynamo=True)`; int8 is its
    `quantize_dynamic`. inductor is `torch.compile` with freezing. Before the model each engine
    builds a tiny one, so that build time and memory leave out imports. *Growth* is the largest
    resident memory during building and running over that before building, when the module is in
    memory already. Differences and KL(eager || engine) are those of the result to eager's in
    float32; hidden states have no KL. The roofline is the sum over products with weights of
    max(operations / peak, weight bytes / read bandwidth), with the peaks measured in the same run.
    """

    title = "Prefill of 128 tokens beside other engines"
    charts = tuple(
        Chart(
            table=f"{precision}: median latency",
            metrics=("forge", *(entry.label for entry in entries)),
        )
        for precision, entries in PEERS.items()
    )

    def run(self, settings: Settings) -> Iterator[Measurement]:
        load = os.getloadavg()[0]
        versions: dict[str, str] = {}
        with tempfile.TemporaryDirectory() as folder:
            session = Session(
                folder=Path(folder), runs=settings.pick(50, 5), warm_ups=settings.pick(10, 2),
                block=settings.pick(5, 2), threads=_THREADS, layers=settings.layers,
                say=settings.say,
            )  # fmt: skip
            for model in settings.choose(MODELS):
                yield from _model(settings, session, model, versions)
        yield from _setup(versions, load)


def _model(
    settings: Settings, session: Session, model: str, versions: dict[str, str]
) -> Iterator[Measurement]:
    name = model.removeprefix("shape:")
    try:
        reference = session.reference(model)
    except WorkerError as error:
        settings.say(f"{model} cannot be measured: {error}")
        yield Subject("Failures", f"{name}, eager fp32 as reference").note("message", str(error))
        return
    for precision in settings.choose_precisions(tuple(PEERS)):
        peaks = measure_peaks(_THREADS)
        outcomes = session.measure(model, Entry("forge", precision), PEERS[precision], reference)
        for outcome in outcomes:
            versions.update(outcome.ready.get("versions", {}))
            settings.say(f"{name}, {precision}, {_summary(outcome)}")
        yield from rows(name, precision, outcomes, reference, peaks)


def _summary(outcome: Outcome) -> str:
    if outcome.median_ms is None:
        return f"{outcome.entry.label}: failed, {outcome.failure}"
    beside = f", {outcome.ratio:.3f} of forge" if outcome.ratio is not None else ""
    return f"{outcome.entry.label}: median {outcome.median_ms:.2f} ms{beside}"


def _setup(versions: dict[str, str], load_before: float) -> Iterator[Measurement]:
    table = "Setup of the engines"
    for name, version in sorted(versions.items()):
        yield Subject(table, name).note("value", version)
    yield Subject(table, "threads of each engine").note("value", str(_THREADS))
    yield Subject(table, "load average before").note("value", f"{load_before:.2f}")
    yield Subject(table, "load average after").note("value", f"{os.getloadavg()[0]:.2f}")
