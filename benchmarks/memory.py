"""How far a process grows while a model is compiled and run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.core.benchmark import Benchmark, Chart, Settings, benchmark
from benchmarks.core.measurement import Ask, Measurement, Subject
from benchmarks.core.roofline import WEIGHT_BYTES
from forge_ugc.evaluation.peers.workers import Job, Worker, WorkerError

_MODELS = ("shape:gpt2", "smollm2", "shape:llama-3.2-1b")
_LARGE = "shape:llama-3.1-8b"
_PRECISIONS = ("fp32", "bf16", "int8")
_LEAN = Ask("growth at most 1.25 x (packed weights + arena)", at_most=1.25)
_FITS = Ask("the 8B shape in int8 compiles and runs within 20 GiB", at_most=20 << 30)


@benchmark("memory")
class Memory(Benchmark):
    """Target `cpu`, batch 1, 128 tokens, two threads, three calls; a process for every line.

    *Growth* is the largest resident memory during compiling and running (the kernel's high-water
    mark, set back before) over that before, when imports are done, a tiny model was compiled and
    the module is in memory. It is set against the bytes of the weights of the model's linear layers
    in the precision, each counted once, plus the arena: results and everything else count as
    growth. The 8B shape is compiled from unwritten weights, which take no memory until they are
    read; *peak* is of the whole process.
    """

    title = "Memory while compiling and running"
    charts = (
        Chart(
            table="Growth of the process", metrics=("growth", "weights of linear layers", "arena")
        ),
    )

    def run(self, settings: Settings) -> Iterator[Measurement]:
        for model in settings.choose(_MODELS):
            for precision in settings.choose_precisions(_PRECISIONS):
                yield from _line(settings, _Case(model, precision))
        for model in settings.choose((_LARGE,)):
            for precision in settings.choose_precisions(("int8",)):
                yield from _line(settings, _Case(model, precision, empty=True))


@dataclass(frozen=True, slots=True)
class _Case:
    model: str
    precision: str
    empty: bool = False


def _line(settings: Settings, case: _Case) -> Iterator[Measurement]:
    name = f"{case.model.removeprefix('shape:')}, {case.precision}"
    row = Subject("Growth of the process", name)
    job = Job(
        engine="forge", model=case.model, precision=case.precision, layers=settings.layers,
        empty=case.empty,
    )  # fmt: skip
    try:
        with Worker(job, partial(_say, settings, name)) as worker:
            worker.run(3)
            memory, ready = worker.ask("memory"), worker.ready
    except WorkerError as error:
        settings.say(f"{name} failed: {error}")
        yield from _failed(row, case, str(error))
        return
    yield from _figures(row, case, memory, ready)


def _say(settings: Settings, name: str, text: str) -> None:
    settings.say(f"{name}: {text}")


def _figures(
    row: Subject,
    case: _Case,
    memory: dict[str, Any],  # Any: JSON
    ready: dict[str, Any],
) -> Iterator[Measurement]:
    packed = ready["linear_weights"] * WEIGHT_BYTES[case.precision]
    arena = ready["details"]["arena bytes"]
    growth = memory["growth_bytes"]
    yield row.measure("growth", "bytes", growth)
    yield row.measure("weights of linear layers", "bytes", packed)
    yield row.measure("arena", "bytes", arena)
    yield row.measure("growth / (weights + arena)", "ratio", growth / (packed + arena), ask=_LEAN)
    fits = _FITS if case.empty else None
    yield row.measure("peak", "bytes", memory["peak_bytes"], ask=fits)
    yield row.measure("exact high-water mark", "yes/no", memory["exact"])
    yield row.measure("compile", "s", ready["build_seconds"])


def _failed(row: Subject, case: _Case, message: str) -> Iterator[Measurement]:
    """What was asked is not met by a compilation that fails."""
    asks = [("growth / (weights + arena)", _LEAN)] + ([("peak", _FITS)] if case.empty else [])
    for metric, ask in asks:
        yield row.missing(metric, ask)
    yield row.note("failure", message)
