"""Cold compile time by phase, beside other engines in one run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.core.benchmark import Benchmark, Chart, Settings, benchmark
from benchmarks.core.measurement import Ask, Measurement, Subject
from forge_ugc.evaluation.metrics import compile_efficiency, geometric_mean
from forge_ugc.evaluation.peers.interleave import interleave
from forge_ugc.evaluation.peers.workers import Job, Worker, WorkerError

_THREADS = 2
_PHASES = ("export", "convert", "compile", "first call")
_PEERS = ("openvino_onnx", "onnxruntime", "openvino", "inductor")


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the registry.

    Attributes:
        layers: only the first ones, where memory does not hold all; None for all.
        published: seconds that the authors of arXiv 2604.16498v1 give for themselves, OpenVINO
            through ONNX and ONNX Runtime; None for a model that is none of theirs.
    """

    spec: str
    layers: int | None = None
    published: tuple[float, float, float] | None = None

    @property
    def name(self) -> str:
        """As tables name it."""
        cut = f", {self.layers} layers" if self.layers else ""
        return self.spec.removeprefix("shape:") + cut


MODELS = (
    Model("shape:gpt2", published=(1.000, 6.930, 7.271)),
    Model("shape:granite-350m", published=(1.420, 9.840, 10.320)),
    Model("shape:qwen2-0.5b", published=(1.680, 11.240, 11.890)),
    Model("shape:llama-3.2-1b", published=(2.340, 18.520, 19.840)),
    Model("shape:lfm2-2.6b", layers=10, published=(3.850, 32.160, 34.280)),
    Model("smollm2"),
    Model("shape:bert-base"),
    Model("shape:minilm"),
    Model("shape:vit-b"),
    Model("shape:whisper-tiny-encoder"),
    Model("shape:jet-tagger"),
)

_EACH = {
    "openvino_onnx": Ask("at least 9x OpenVINO through ONNX on each published shape", at_least=9),
    "onnxruntime": Ask("at least 9x ONNX Runtime on each published shape", at_least=9),
    "openvino": Ask("at least 6x OpenVINO by ExportedProgram on each published shape", at_least=6),
}
_MEAN = {
    "openvino_onnx": Ask("geometric mean at least 20x OpenVINO through ONNX", at_least=20),
    "onnxruntime": Ask("geometric mean at least 20x ONNX Runtime", at_least=20),
}
_INDUCTOR = Ask("at least 40x Inductor on GPT-2 and SmolLM2", at_least=40)
_INDUCTOR_ON = ("shape:gpt2", "smollm2")


@benchmark("compile_beside")
class CompileBeside(Benchmark):
    """From a float32 module in memory to a program that has given its first result, two threads.

    Every compilation is in a process of its own, which has built a tiny model first, so that
    imports are done; engines take turns within a repeat. *Export* is up to the program that the
    engine reads (ours: capture; ONNX: the file with its weights), *convert* to its own form (ours:
    passes, lowering, schedule, buffers), *compile* to something callable. *First call* is what the
    first call takes longer than the median of the next three, so that postponed work counts;
    Inductor does everything there. All four are in the total. Ratios are those of one repeat, and
    above 1 where we are faster.

    openvino_onnx and onnxruntime read `torch.onnx.export(dynamo=True)`, openvino reads
    `torch.export`'s program, inductor is `torch.compile` with freezing. SmolLM2 has its published
    weights, all others random ones; lfm2-2.6b is cut to ten layers, and the published 8B shape is
    left out, because 24 GiB hold no more in float32. CEI is the authors' (latency of the peer /
    ours) / our compile seconds, with latencies from one interleaving in the last repeat.
    """

    title = "Compile time beside other engines"
    charts = (
        Chart(table="Compile time", metrics=("forge", *_PEERS)),
        Chart(table="Phases", metrics=_PHASES, stacked=True),
    )

    def run(self, settings: Settings) -> Iterator[Measurement]:
        repeats = settings.pick(3, 1)
        chosen = settings.choose(tuple(model.spec for model in MODELS))
        ratios: dict[str, list[float]] = {peer: [] for peer in _PEERS}
        versions: dict[str, str] = {}
        for model in (m for m in MODELS if m.spec in chosen):
            runs = Runs(model, settings)
            for repeat in range(1, repeats + 1):
                runs.repeat(last=repeat == repeats)
            versions.update(runs.versions)
            yield from _rows(runs)
            for peer in _PEERS if model.published else ():
                found = runs.ratios(peer)
                ratios[peer] += [statistics.median(found)] if found else []
        row = Subject("Peer / forge", "geometric mean of the published shapes")
        for peer, found in ratios.items():
            if found:
                mean = geometric_mean(found)
                yield row.measure(peer, "ratio", mean, ask=_MEAN.get(peer))
        setup = Subject("Setup", "engines")
        for name, version in sorted(versions.items()):
            yield setup.note(name, version)


@dataclass(slots=True)
class Runs:
    """All compilations of one model.

    Attributes:
        cold: answers of the workers, by engine: one a repeat, None where it failed.
        latencies: by peer: its times and ours, of one interleaving.
        failures: the last message by engine.
    """

    model: Model
    settings: Settings
    cold: dict[str, list[Mapping[str, Any] | None]] = field(default_factory=dict)  # Any: JSON
    latencies: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def repeat(self, *, last: bool) -> None:
        """Compile once with every engine; the last time, run each peer beside ours too."""
        with ExitStack() as stack:
            ours = self._compile("forge", stack)
            if ours is not None and not last:
                ours.close()
            for peer in _PEERS:
                if self.cold.get(peer, [{}])[-1] is None:
                    self.cold[peer].append(None)  # what failed once takes no time again
                    continue
                with ExitStack() as its_own:
                    worker = self._compile(peer, its_own)
                    if worker is not None and ours is not None and last:
                        self._beside(peer, worker, ours)

    def seconds(self, engine: str) -> list[float]:
        """Total of every repeat that worked."""
        return [cold["seconds"] for cold in self.cold.get(engine, ()) if cold]

    def ratios(self, peer: str) -> list[float]:
        """The peer's total over ours, by repeat."""
        pairs = zip(self.cold.get(peer, ()), self.cold.get("forge", ()), strict=True)
        return [theirs["seconds"] / ours["seconds"] for theirs, ours in pairs if theirs and ours]

    def _compile(self, engine: str, stack: ExitStack) -> Worker | None:
        job = Job(
            engine=engine, model=self.model.spec, precision="fp32", threads=_THREADS,
            layers=self.settings.layers or self.model.layers, within_memory=True,
        )  # fmt: skip
        found = self.cold.setdefault(engine, [])
        try:
            worker = stack.enter_context(Worker(job, partial(self._say, engine)))
            found.append(worker.ask("cold"))
        except WorkerError as error:
            found.append(None)
            self.failures[engine] = str(error)
            self._say(engine, f"failed: {error}")
            return None
        self.versions.update(worker.ready.get("versions", {}))
        self._say(engine, f"compiled in {found[-1]['seconds']:.2f} s")
        return worker

    def _beside(self, peer: str, worker: Worker, ours: Worker) -> None:
        timings = interleave(
            {"forge": ours, peer: worker}, runs=self.settings.pick(20, 4),
            warm_ups=self.settings.pick(3, 1),
        )  # fmt: skip
        if all(timing.failure is None for timing in timings.values()):
            self.latencies[peer] = (timings[peer].nanoseconds, timings["forge"].nanoseconds)

    def _say(self, engine: str, text: str) -> None:
        self.settings.say(f"{self.model.name}, {engine}: {text}")


def _rows(runs: Runs) -> Iterator[Measurement]:
    """All rows of one model."""
    yield from _totals(runs)
    yield from _ratios(runs)
    for engine in ("forge", *_PEERS):
        found = [cold["phases"] for cold in runs.cold.get(engine, ()) if cold]
        row = Subject("Phases", f"{runs.model.name}, {engine}")
        for phase in _PHASES if found else ():
            yield row.measure(phase, "s", [phases.get(phase, 0.0) for phases in found])
    for engine, message in runs.failures.items():
        yield Subject("Failures", f"{runs.model.name}, {engine}").note("message", message)


def _totals(runs: Runs) -> Iterator[Measurement]:
    row = Subject("Compile time", runs.model.name)
    published = dict(zip(("forge", *_PEERS), runs.model.published or (), strict=False))
    for engine in ("forge", *_PEERS):
        seconds = runs.seconds(engine)
        if seconds:
            yield row.measure(engine, "s", seconds, published=published.get(engine))
        else:
            yield row.note(engine, "failed")


def _ratios(runs: Runs) -> Iterator[Measurement]:
    model, compile_seconds = runs.model, runs.seconds("forge")
    row, cei = Subject("Peer / forge", model.name), Subject("CEI", model.name)
    for index, peer in enumerate(_PEERS):
        ratios = runs.ratios(peer)
        ask = _EACH.get(peer) if model.published else None
        if peer == "inductor" and model.spec in _INDUCTOR_ON:
            ask = _INDUCTOR
        theirs = model.published[index + 1 :][:1] if model.published else ()
        published = theirs[0] / model.published[0] if theirs and model.published else None
        if ratios:
            yield row.measure(peer, "ratio", ratios, published=published, ask=ask)
        else:
            yield row.missing(peer, ask)
        yield from _efficiency(cei, peer, runs.latencies.get(peer), compile_seconds)


def _efficiency(
    row: Subject, peer: str, latencies: tuple[Sequence[int], Sequence[int]] | None,
    compile_seconds: Sequence[float],
) -> Iterator[Measurement]:  # fmt: skip
    if latencies is None or not compile_seconds:
        return
    theirs, ours = map(statistics.median, latencies)
    yield row.measure(f"{peer} latency / forge", "ratio", theirs / ours)
    seconds = statistics.median(compile_seconds)
    value = compile_efficiency(theirs, ours, seconds)
    yield row.measure(f"CEI against {peer}", "number", value)
