"""Two programs called from four Python threads at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

import forge_ugc
from benchmarks.core.benchmark import Benchmark, Settings, benchmark
from benchmarks.core.measurement import Ask, Measurement, Subject
from forge_ugc import CompiledModel
from forge_ugc.evaluation.peers.engine import CannotBuildError
from forge_ugc.evaluation.peers.engines.forge import options
from forge_ugc.evaluation.peers.process_memory import resident_bytes
from forge_ugc.evaluation.peers.workload import Workload, load_workload

_MODELS = ("shape:minilm", "shape:smollm2")
_TOKENS = 16
_LAYERS = 2
_THREADS = 4
_INPUT_SETS = 4
_EQUAL = Ask(
    "10,000 calls from 4 threads: all equal to single-threaded ones bit for bit", at_most=0
)
_FLAT = Ask("no growth of memory: under 1 MiB after the first tenth of the calls", at_most=1 << 20)


@benchmark("concurrency")
class Concurrency(Benchmark):
    """MiniLM and SmolLM2 shapes cut to two layers, 16 tokens, in each precision, target `cpu`.

    Single-threaded calls give the expected results of four inputs for each of the two programs;
    then four Python threads make 10,000 calls in all, of a program and an input drawn at random,
    and every result is compared bit for bit. Resident memory is read after a tenth of the calls,
    when every thread has its scratch memory, and at the end.
    """

    title = "Calls from several threads"

    def run(self, settings: Settings) -> Iterator[Measurement]:
        calls = settings.pick(10_000, 200)
        workloads = [
            load_workload(model, tokens=_TOKENS, layers=settings.layers or _LAYERS, empty=False)
            for model in settings.choose(_MODELS)
        ]
        for precision in settings.choose_precisions(("fp32", "bf16", "int8")):
            row = Subject("Calls", precision)
            try:
                programs = [_Program.compiled(w, precision) for w in workloads]
            except CannotBuildError as error:
                yield row.missing("different results", _EQUAL)
                yield row.missing("growth", _FLAT)
                yield row.note("failure", str(error))
                continue
            yield from _measure(settings, row, programs, calls)


@dataclass(frozen=True, slots=True)
class _Program:
    model: CompiledModel
    inputs: tuple[tuple[torch.Tensor, ...], ...]
    expected: tuple[torch.Tensor, ...]

    @classmethod
    def compiled(cls, workload: Workload, precision: str) -> _Program:
        """The program with its inputs and their results, one call after another."""
        model = forge_ugc.compile(workload.module, workload.inputs, options=options(precision))
        generator = torch.Generator().manual_seed(0)
        ids, *others = workload.inputs
        assert workload.vocabulary is not None
        inputs = tuple(
            (torch.randint(0, workload.vocabulary, ids.shape, generator=generator), *others)
            for _ in range(_INPUT_SETS)
        )
        return cls(model, inputs, tuple(model(*given).clone() for given in inputs))

    def is_equal(self, index: int) -> bool:
        """Whether a call gives the expected bits."""
        want, got = self.expected[index], self.model(*self.inputs[index])
        return torch.equal(want.view(torch.uint8), got.contiguous().view(torch.uint8))


class _Progress:
    """Counts calls of all threads; reads memory after a tenth of them."""

    def __init__(self, calls: int, settings: Settings, name: str) -> None:
        self._calls, self._settings, self._name = calls, settings, name
        self._done, self._lock = 0, threading.Lock()
        self.early_bytes = 0

    def count(self) -> None:
        with self._lock:
            self._done += 1
            if self._done == self._calls // 10:
                self.early_bytes = resident_bytes()
            if self._done % (self._calls // 4) == 0:
                self._settings.say(f"{self._name}: {self._done} of {self._calls} calls")


def _measure(
    settings: Settings, row: Subject, programs: Sequence[_Program], calls: int
) -> Iterator[Measurement]:
    progress = _Progress(calls, settings, row.name)

    def work(seed: int) -> int:
        draw = random.Random(seed)
        different = 0
        for _ in range(calls // _THREADS):
            program = draw.choice(programs)
            different += not program.is_equal(draw.randrange(_INPUT_SETS))
            progress.count()
        return different

    start = time.perf_counter()
    with ThreadPoolExecutor(_THREADS) as pool:
        different = sum(pool.map(work, range(_THREADS)))
        seconds = time.perf_counter() - start
        growth = resident_bytes() - progress.early_bytes
    yield row.measure("calls", "count", calls)
    yield row.measure("different results", "count", different, ask=_EQUAL)
    yield row.measure("growth", "bytes", growth, ask=_FLAT)
    yield row.measure("resident at the end", "bytes", progress.early_bytes + growth)
    host = sum(sum(p.model.result.host_instructions.values()) for p in programs)
    yield row.measure("host instructions", "count", host)
    yield row.measure("a call, of all threads together", "ms", seconds / calls * 1e3)
