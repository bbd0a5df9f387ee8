"""One model on our engine and on others, measured in turn with equal precision and threads."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forge_ugc.errors import OptionError
from forge_ugc.evaluation.machine import machine_facts
from forge_ugc.evaluation.metrics import compile_efficiency
from forge_ugc.evaluation.peers.engine import find, registered
from forge_ugc.evaluation.peers.line_up import ENGINES, Entry
from forge_ugc.evaluation.peers.outcome import Outcome, Reference
from forge_ugc.evaluation.peers.session import Session
from forge_ugc.evaluation.peers.workers import WorkerError
from forge_ugc.options import PRECISIONS

if TYPE_CHECKING:
    from forge_ugc.report.document import Json

PHASES = ("export", "convert", "compile", "first call")
OURS = "forge"
VERSION = 1
_WARM_UPS = 10
_BLOCK = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be measured.

    Attributes:
        model: as `load_model` takes it.
        against: names of engines; empty for all that we know.
        precision: of all engines; `threads`: of each of them.
        tokens: length of the input, where the model takes tokens.
        layers: number of layers instead of the model's own.
        runs: timed calls of each engine, after ten that warm up.
    """

    model: str
    against: tuple[str, ...] = ()
    precision: str = "fp32"
    threads: int = 1
    tokens: int = 128
    layers: int | None = None
    runs: int = 50

    def __post_init__(self) -> None:
        known = [name for name in registered() if name != OURS]
        for name in self.against:
            if name not in known:
                raise OptionError(
                    f"no engine to measure against is called {name!r}",
                    fix=f"choose from {', '.join(known)}",
                )
        if self.precision not in PRECISIONS:
            raise OptionError(
                f"no precision is called {self.precision!r}",
                fix=f"choose from {', '.join(PRECISIONS)}",
            )

    @property
    def peers(self) -> tuple[Entry, ...]:
        """The engines to measure against, each in the same precision."""
        return tuple(Entry(name, self.precision) for name in self.against or ENGINES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one engine did; None where it does not apply or the engine failed.

    Attributes:
        threads: that the engine says it uses.
        phases: seconds by phase of the build; `compile_seconds`: their sum.
        latencies_ms: of the timed calls; `ratio`: their median over ours.
        tokens_per_second: of the prompt, for models that take tokens.
        peak_bytes, growth_bytes: largest resident memory of the process, and what of that is beside
            the module in memory.
        artifact_bytes: of what it can keep on disk.
        max_abs_difference, mean_kl: from eager in float32; the latter for logits.
        joules: of the processors a call; `energy_note`: why there is no such number.
        cei: (latency / ours) / our compile seconds, for peers.
        failure: its message.
    """

    engine: str
    precision: str
    versions: dict[str, str]
    threads: int | None = None
    phases: dict[str, float] | None = None
    compile_seconds: float | None = None
    latencies_ms: tuple[float, ...] = ()
    ratio: float | None = None
    compile_ratio: float | None = None
    tokens_per_second: float | None = None
    peak_bytes: int | None = None
    growth_bytes: int | None = None
    artifact_bytes: int | None = None
    max_abs_difference: float | None = None
    mean_kl: float | None = None
    joules: float | None = None
    energy_note: str | None = None
    cei: float | None = None
    failure: str | None = None

    @property
    def median_ms(self) -> float | None:
        """Median latency."""
        return statistics.median(self.latencies_ms) if self.latencies_ms else None

    def percentile_ms(self, percent: int) -> float | None:
        """The latency that so many percent of the calls stay below, interpolated."""
        if len(self.latencies_ms) < 2:
            return self.median_ms
        return statistics.quantiles(self.latencies_ms, n=100, method="inclusive")[percent - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All lines, ours first, and what they were measured on."""

    question: Question
    machine: dict[str, str]
    parameters: int
    lines: tuple[Line, ...]


def compare_engines(question: Question, say: Callable[[str], None]) -> Comparison:
    """Build the model with every engine in a process of its own, and run them in turn.

    An engine that is not installed, refuses the precision or fails is a line with its message.

    Args:
        say: takes lines of progress.

    Raises:
        OptionError: the model cannot be loaded or run in PyTorch.
    """
    with tempfile.TemporaryDirectory() as folder:
        session = Session(
            folder=Path(folder), runs=question.runs, warm_ups=min(_WARM_UPS, question.runs),
            block=_BLOCK, threads=question.threads, layers=question.layers, say=say,
            tokens=question.tokens, thorough=True,
        )  # fmt: skip
        try:
            reference = session.reference(question.model)
        except WorkerError as error:
            raise OptionError(
                f"{question.model} cannot be run in PyTorch, which results are compared with",
                why=str(error),
            ) from error
        absent = {e: find(e.engine).missing() for e in question.peers}
        present = [entry for entry, missing in absent.items() if not missing]
        ours = Entry(OURS, question.precision)
        outcomes = session.measure(question.model, ours, present, reference)
    by_entry = {outcome.entry: outcome for outcome in outcomes}
    for entry, missing in absent.items():
        if missing:
            by_entry[entry] = Outcome(entry, failure=_not_installed(missing))
    _check_threads(question, by_entry.values())
    own = by_entry[ours]
    lines = [_line(by_entry[e], own, reference, question) for e in (ours, *question.peers)]
    return Comparison(
        question=question,
        machine=machine_facts(),
        parameters=reference.parameters,
        lines=tuple(lines),
    )


def _not_installed(missing: Sequence[str]) -> str:
    return f"not installed: {', '.join(missing)}; pip install 'forge-ugc[peers]'"


def _check_threads(question: Question, outcomes: Iterable[Outcome]) -> None:
    """An engine that runs with another number of threads than asked has failed."""
    for outcome in outcomes:
        threads = outcome.ready.get("threads", question.threads)
        if outcome.failure is None and threads != question.threads:
            outcome.failure = f"it runs with {threads} threads, not with {question.threads}"


def _line(outcome: Outcome, own: Outcome, reference: Reference, question: Question) -> Line:
    entry = outcome.entry
    versions = dict(outcome.ready.get("versions", {}))
    if outcome.failure is not None:
        return Line(
            engine=entry.engine, precision=entry.precision, versions=versions,
            failure=outcome.failure,
        )  # fmt: skip
    median, seconds = outcome.median_ms, outcome.cold["seconds"]
    beside = outcome is not own and own.failure is None
    per_call = outcome.energy.get("joules")
    found = outcome.fidelity
    takes_tokens = outcome.ready.get("vocabulary") is not None
    return Line(
        engine=entry.engine, precision=entry.precision, versions=versions,
        threads=outcome.ready["threads"], phases=dict(outcome.cold["phases"]),
        compile_seconds=seconds, latencies_ms=tuple(outcome.times_ms),
        ratio=outcome.ratio if beside else None,
        compile_ratio=seconds / own.cold["seconds"] if beside else None,
        tokens_per_second=question.tokens / median * 1e3 if takes_tokens and median else None,
        peak_bytes=outcome.memory["peak_bytes"], growth_bytes=outcome.memory["growth_bytes"],
        artifact_bytes=outcome.artifact_bytes,
        max_abs_difference=found.max_abs_difference if found else None,
        mean_kl=found.mean_kl if found and reference.logits else None,
        joules=per_call / outcome.energy["calls"] if per_call is not None else None,
        energy_note=outcome.energy.get("missing"),
        cei=compile_efficiency(outcome.ratio, 1.0, own.cold["seconds"])
        if beside and outcome.ratio
        else None,
    )  # fmt: skip


def comparison_document(comparison: Comparison) -> dict[str, Json]:
    """Every figure as JSON. Times end in `_seconds` or `_ms`, sizes in `_bytes`."""
    question = comparison.question
    machine: dict[str, Json] = dict(comparison.machine)
    return {
        "version": VERSION,
        "model": question.model,
        "parameters": comparison.parameters,
        "precision": question.precision,
        "threads": question.threads,
        "tokens": question.tokens,
        "layers": question.layers,
        "runs": question.runs,
        "machine": machine,
        "engines": [_line_document(line) for line in comparison.lines],
    }


def _line_document(line: Line) -> Json:
    versions: dict[str, Json] = dict(line.versions)
    phases: dict[str, Json] = dict(line.phases or {})
    return {
        "engine": line.engine, "precision": line.precision, "threads": line.threads,
        "versions": versions, "failure": line.failure,
        "phase_seconds": phases, "compile_seconds": line.compile_seconds,
        "compile_ratio": line.compile_ratio,
        "median_ms": line.median_ms, "p10_ms": line.percentile_ms(10),
        "p90_ms": line.percentile_ms(90), "p99_ms": line.percentile_ms(99),
        "latency_ratio": line.ratio, "cei": line.cei, "tokens_per_second": line.tokens_per_second,
        "peak_bytes": line.peak_bytes, "growth_bytes": line.growth_bytes,
        "artifact_bytes": line.artifact_bytes, "max_abs_difference": line.max_abs_difference,
        "mean_kl": line.mean_kl, "joules_a_call": line.joules, "energy_note": line.energy_note,
    }  # fmt: skip
