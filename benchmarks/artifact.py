"""What a saved artifact costs: compiling, saving and loading, and its size."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import torch

import forge_ugc
from benchmarks.core.benchmark import Benchmark, Settings, SkippedError, benchmark
from benchmarks.core.measurement import Ask, Measurement, Subject
from forge_ugc import CompiledModel
from forge_ugc.errors import OptionError
from forge_ugc.loaders.load import load_model
from forge_ugc.loaders.loaded import LoadedModel

_FAST_LOAD = Ask("loading takes under a tenth of compiling", at_most=0.1)
_SAME = Ask("the loaded model gives the same bits", at_least=1.0)


@benchmark("artifact")
class Artifact(Benchmark):
    """SmolLM2-135M-Instruct, float32, 128 tokens, target `cpu`, weights already in memory.

    A repeat compiles, saves and loads once. The file was just written, so that it is read from the
    page cache; loading reads and checks all of it. The ratio is taken within each repeat.
    """

    title = "Artifacts: SmolLM2-135M saved and loaded"

    def run(self, settings: Settings) -> Iterator[Measurement]:
        try:
            loaded = load_model("smollm2", tokens=128)
        except OptionError as error:
            raise SkippedError(str(error)) from error
        times: dict[str, list[float]] = {"compile": [], "save": [], "load": []}
        same = True
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.forge"
            for repeat in range(settings.pick(7, 1) + 1):
                compiled, *seconds, again = _round(loaded, path)
                logits = [model(*loaded.args).logits for model in (compiled, again)]
                same = same and torch.equal(*logits)
                found = dict(zip(times, seconds, strict=True))
                for name in times if repeat else ():  # the first one warms up
                    times[name].append(found[name])
                settings.say(", ".join(f"{name} {value:.2f} s" for name, value in found.items()))
            size = path.stat().st_size
        row = Subject("Times and sizes", "SmolLM2-135M")
        for name, seconds in times.items():
            yield row.measure(name, "s", seconds)
        pairs = zip(times["load"], times["compile"], strict=True)
        yield row.measure("load / compile", "ratio", [a / b for a, b in pairs], ask=_FAST_LOAD)
        yield row.measure("file", "bytes", size)
        weights = compiled.result.constant_bytes
        yield row.measure("constants", "bytes", weights)
        yield row.measure("file / constants", "ratio", size / weights)
        yield row.measure("loaded equals compiled", "yes/no", same, ask=_SAME)


def _round(
    loaded: LoadedModel, path: Path
) -> tuple[CompiledModel, float, float, float, CompiledModel]:
    """A compiled model, the seconds to compile, save and load it, and the loaded model."""
    gc.collect()
    marks = [time.perf_counter()]
    compiled = forge_ugc.compile(loaded.module, loaded.args, loaded.kwargs)
    marks.append(time.perf_counter())
    compiled.save(path)
    marks.append(time.perf_counter())
    again = forge_ugc.load(path)
    marks.append(time.perf_counter())
    compiling, saving, loading = (b - a for a, b in pairwise(marks))
    return compiled, compiling, saving, loading, again
