"""Where compilation spends its time, and how that grows with the number of layers."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence

import forge_ugc
from benchmarks.core.benchmark import Benchmark, Settings, benchmark
from benchmarks.core.measurement import Ask, Measurement, Subject, fit_line
from forge_ugc import CompilationResult
from forge_ugc.loaders.load import load_model
from forge_ugc.loaders.loaded import LoadedModel

_LAYERS = (4, 8, 16, 32)
_BACK = ("lowering", "scheduling", "allocation")
_PASSES_FAST = Ask("GPT-2: all passes under a third of the capture of the same run", at_most=1 / 3)
_BACK_FAST = Ask(
    "GPT-2: lowering, scheduling and allocation under a tenth of that capture", at_most=0.1
)
_LINEAR = Ask("linear in the number of layers, taken as R^2 of at least 0.98", at_least=0.98)
_PUBLISHED_PHASES = {"capture": 773.5, "passes": 208.0, "back": 8.0}
_PUBLISHED_PASSES = {
    "dead-code": 7, "common-subexpressions": 9, "fold-constants": 11, "device-constants": 21,
    "fuse-attention": 38, "fuse-operators": 72, "layout": 25,
}  # fmt: skip


@benchmark("compile_time")
class CompileTime(Benchmark):
    """Compilation for the target `cpu`, in one process, batch 1, 128 tokens, unwritten weights.

    Every model is compiled once before anything is measured; then all are compiled in turn, again
    and again, so that a change of the machine's speed meets all of them. A pass's time is the sum
    of its runs in all rounds of the pipeline. `back` is lowering, scheduling and allocation.
    """

    title = "Compile time"

    def run(self, settings: Settings) -> Iterator[Measurement]:
        layers = _LAYERS[: settings.pick(len(_LAYERS), 2)]
        models: dict[tuple[str, int], LoadedModel] = {
            (name, count): load_model(f"shape:{name}", empty=True, layers=count)
            for name in ("gpt2", "llama-3.2-1b")
            for count in layers
        }
        models["gpt2", 12] = load_model("shape:gpt2", empty=True)
        samples: dict[tuple[str, int], list[CompilationResult]] = {key: [] for key in models}
        for repeat in range(settings.pick(9, 1) + 1):
            for key, loaded in models.items():
                gc.collect()
                result = forge_ugc.compile(loaded.module, loaded.args, loaded.kwargs).result
                if repeat:
                    samples[key].append(result)
            settings.say(f"repeat {repeat} done" if repeat else "warmed up")
        yield from _phases(samples["gpt2", 12])
        yield from _passes(samples["gpt2", 12])
        for name in ("gpt2", "llama-3.2-1b"):
            yield from _growth(name, layers, [samples[name, count] for count in layers])


def _milliseconds(result: CompilationResult) -> dict[str, float]:
    phases = {name: seconds * 1e3 for name, seconds in result.phase_seconds.items()}
    return {**phases, "back": sum(phases[name] for name in _BACK)}


def _phases(results: Sequence[CompilationResult]) -> Iterator[Measurement]:
    runs = [_milliseconds(result) for result in results]
    for phase in runs[0]:
        row = Subject("GPT-2, phases", phase)
        published = _PUBLISHED_PHASES.get(phase)
        yield row.measure("time", "ms", [run[phase] for run in runs], published=published)
        ask = {"passes": _PASSES_FAST, "back": _BACK_FAST}.get(phase)
        theirs = published and published / _PUBLISHED_PHASES["capture"]
        ratios = [run[phase] / run["capture"] for run in runs]
        yield row.measure("time / capture", "ratio", ratios, published=theirs, ask=ask)


def _passes(results: Sequence[CompilationResult]) -> Iterator[Measurement]:
    for name in dict.fromkeys(run.name for run in results[0].pipeline.runs):
        runs = [[r for r in result.pipeline.runs if r.name == name] for result in results]
        row = Subject("GPT-2, passes", name)
        seconds = [sum(run.seconds for run in found) * 1e3 for found in runs]
        yield row.measure("time", "ms", seconds, published=_PUBLISHED_PASSES.get(name))
        yield row.measure("runs", "count", len(runs[0]))
        yield row.measure("rewrites", "count", sum(run.changed for run in runs[0]))


def _growth(
    name: str, layers: Sequence[int], results: Sequence[Sequence[CompilationResult]]
) -> Iterator[Measurement]:
    for phase in ("capture", "passes", "back"):
        row = Subject(f"Growth with layers, {name}", phase)
        medians = []
        for count, found in zip(layers, results, strict=True):
            runs = [_milliseconds(result)[phase] for result in found]
            measured = row.measure(f"{count} layers", "ms", runs)
            medians.append(measured.median or 0.0)
            yield measured
        line = fit_line(layers, medians)
        yield row.measure("a layer", "ms", line.slope)
        yield row.measure("intercept", "ms", line.intercept)
        yield row.measure("R^2", "ratio", line.r_squared, ask=_LINEAR)
