"""`python -m forge_ugc.evaluation.peers.worker ENGINE MODEL PRECISION`: build, then run on command.

One JSON object a line leaves through standard output: first `{"ready": ...}` with figures of the
build, or `{"failed": message}` and the process ends. Commands come one a line through standard
input, and each is answered by a line:

    cold           {"phases": {name: seconds}, "seconds": their sum, "call_seconds": ...} of the
                   build; the first call counts with what it takes longer than the next ones
    run N          [nanoseconds of each of N calls]
    output PATH    the tensor of one call is written there (.npy, float32): {"shape": [...]}
    linears        [[rows, inputs, outputs], ...] of every product with a weight in one call
    memory         {"peak_bytes": ..., "growth_bytes": ..., ...}
    artifact       bytes of what the engine can keep on disk, or null
    energy N       {"joules": ..., "calls": N} of the processors during N calls, or {"missing": why}
    quit           nothing; so does the end of the input

Whatever libraries print goes to standard error, beside lines of progress that start with `>`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge_ugc.evaluation.peers.engine import Built
    from forge_ugc.evaluation.peers.process_memory import PeakMemory
    from forge_ugc.evaluation.peers.workload import Workload

_LATER_CALLS = 3
# What a build takes beside the module itself, at least, in copies of its float32 weights.
_COPIES = 1.5
_MORE_BYTES = 1 << 30


def main(arguments: list[str] | None = None) -> int:
    """Serve one engine; 1 if it could not be built or a command failed."""
    parser = argparse.ArgumentParser(prog="forge_ugc.evaluation.peers.worker")
    parser.add_argument("engine")
    parser.add_argument("model")
    parser.add_argument("precision")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--empty", action="store_true", help="leave large weights unwritten")
    parser.add_argument(
        "--within-memory", action="store_true", help="fail before a build that memory cannot hold"
    )
    options = parser.parse_args(arguments)
    # Standard output belongs to the protocol: others' prints, also those of C++, go to the other.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value: object) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    with tempfile.TemporaryDirectory() as cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache  # every build is a first one
        try:
            _serve(options, answer)
        except Exception as error:  # noqa: BLE001 - any failure of a peer is a result
            traceback.print_exc()
            answer({"failed": _message(error)})
            return 1
    return 0


def _message(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:400]


def _say(text: str) -> None:
    sys.stderr.write(f"> {text}\n")
    sys.stderr.flush()


def _serve(options: argparse.Namespace, answer: Callable[[object], None]) -> None:
    import torch

    from forge_ugc.evaluation.peers.engine import find
    from forge_ugc.evaluation.peers.process_memory import PeakMemory
    from forge_ugc.evaluation.peers.workload import load_workload, tiny_workload

    torch.set_num_threads(options.threads)
    engine = find(options.engine)
    _say("building a tiny model first")
    tiny = engine.build(tiny_workload(), options.precision, options.threads)
    tiny.output()
    del tiny
    _say("loading")
    workload = load_workload(
        options.model, tokens=options.tokens, layers=options.layers, empty=options.empty
    )
    if options.within_memory:
        _require_memory(workload)
    counts = {
        "parameters": workload.parameter_count, "vocabulary": workload.vocabulary,
        "linear_weights": workload.linear_weight_count,
    }  # fmt: skip
    gc.collect()
    memory = PeakMemory()
    memory.start()
    _say("building")
    start = time.perf_counter()
    built = engine.build(workload, options.precision, options.threads)
    seconds = time.perf_counter() - start
    del workload  # an engine that needs the module keeps it
    gc.collect()
    _say(f"built in {seconds:.1f} s")
    answer({"ready": {
        "build_seconds": seconds, **counts, "details": built.details,
        "threads": built.details.get("threads", torch.get_num_threads()),
        "versions": {name: metadata.version(name) for name in _installed(engine.packages)},
    }})  # fmt: skip
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "quit":
            return
        answer(_obey(command, argument, built, memory))


def _require_memory(workload: Workload) -> None:
    from forge_ugc.evaluation.peers.engine import CannotBuildError
    from forge_ugc.evaluation.peers.line_up import available_bytes
    from forge_ugc.report.formatting import bytes_text

    needed = int(_COPIES * 4 * workload.parameter_count) + _MORE_BYTES
    there = available_bytes()
    if needed > there:
        raise CannotBuildError(
            f"the build may take {bytes_text(needed)} of memory beside the model, "
            f"{bytes_text(there)} are left"
        )


def _installed(packages: tuple[str, ...]) -> list[str]:
    known = {item.metadata["Name"].lower() for item in metadata.distributions()}
    return [name for name in packages if name in known]


def _obey(command: str, argument: str, built: Built, memory: PeakMemory) -> object:
    if command == "cold":
        return _cold(built)
    if command == "run":
        return _run(int(argument), built.call)
    if command == "output":
        import numpy as np

        result = built.output().detach().float().numpy()
        np.save(argument, result)
        return {"shape": list(result.shape)}
    if command == "linears":
        from forge_ugc.evaluation.peers.linears import record_linears

        return record_linears(built.call)
    if command == "memory":
        peak = memory.peak_bytes
        growth = peak - memory.start_bytes
        return {"peak_bytes": peak, "growth_bytes": growth, "exact": memory.exact}
    if command == "artifact":
        return None if built.artifact_bytes is None else built.artifact_bytes()
    if command == "energy":
        return _energy(int(argument), built.call)
    raise ValueError(f"no command is called {command!r}")


def _cold(built: Built) -> dict[str, object]:
    phases = dict(built.phases)
    first = phases.pop("first call", None)
    if first is None:
        first = _run(1, built.call)[0] / 1e9
    later = statistics.median(_run(_LATER_CALLS, built.call)) / 1e9
    phases["first call"] = max(first - later, 0.0)
    return {"phases": phases, "seconds": sum(phases.values()), "call_seconds": later}


def _energy(count: int, call: Callable[[], object]) -> dict[str, object]:
    from forge_ugc.evaluation.energy import EnergyCounter, NoCounterError

    try:
        counter = EnergyCounter.find()
        before = counter.read()
        _run(count, call)
        return {"joules": counter.joules_since(before), "calls": count}
    except NoCounterError as error:
        return {"missing": str(error)}


def _run(count: int, call: Callable[[], object]) -> list[int]:
    """Latencies in nanoseconds. The collector runs between calls of ours, not within one."""
    gc.collect()
    gc.disable()
    found = []
    for _ in range(count):
        start = time.perf_counter_ns()
        call()
        found.append(time.perf_counter_ns() - start)
    gc.enable()
    return found


if __name__ == "__main__":
    sys.exit(main())
