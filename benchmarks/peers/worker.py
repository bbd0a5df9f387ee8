"""`python -m benchmarks.peers.worker ENGINE MODEL PRECISION`: build once, then run on command.

One JSON object a line leaves through standard output: first `{"ready": ...}` with figures of the
build, or `{"failed": message}` and the process ends. Commands come one a line through standard
input, and each is answered by a line:

    run N          [nanoseconds of each of N calls]
    output PATH    the tensor of one call is written there (.npy, float32): {"shape": [...]}
    linears        [[rows, inputs, outputs], ...] of every product with a weight in one call
    memory         {"peak_bytes": ..., "growth_bytes": ..., ...}
    quit           nothing; so does the end of the input

Whatever libraries print goes to standard error, beside lines of progress that start with `>`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
import traceback
from importlib import metadata
from typing import Any


def main(arguments: list[str] | None = None) -> int:
    """Serve one engine; 1 if it could not be built or a command failed."""
    parser = argparse.ArgumentParser(prog="benchmarks.peers.worker")
    parser.add_argument("engine")
    parser.add_argument("model")
    parser.add_argument("precision")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--empty", action="store_true", help="leave large weights unwritten")
    options = parser.parse_args(arguments)
    # Standard output belongs to the protocol: others' prints, also those of C++, go to the other.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value: object) -> None:
        print(json.dumps(value), file=answers, flush=True)

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
    print(f"> {text}", file=sys.stderr, flush=True)


def _serve(options: argparse.Namespace, answer: Any) -> None:
    import torch

    from benchmarks.core.process_memory import PeakMemory
    from benchmarks.peers.engine import find
    from benchmarks.peers.workload import load_workload, tiny_workload

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
        "versions": {name: metadata.version(name) for name in _installed(engine.packages)},
    }})  # fmt: skip
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "quit":
            return
        answer(_obey(command, argument, built, memory))


def _installed(packages: tuple[str, ...]) -> list[str]:
    known = {item.metadata["Name"].lower() for item in metadata.distributions()}
    return [name for name in packages if name in known]


def _obey(command: str, argument: str, built: Any, memory: Any) -> object:
    if command == "run":
        return _run(int(argument), built.call)
    if command == "output":
        import numpy as np

        result = built.output().detach().float().numpy()
        np.save(argument, result)
        return {"shape": list(result.shape)}
    if command == "linears":
        from benchmarks.peers.linears import record_linears

        return record_linears(built.call)
    if command == "memory":
        peak = memory.peak_bytes
        growth = peak - memory.start_bytes
        return {"peak_bytes": peak, "growth_bytes": growth, "exact": memory.exact}
    raise ValueError(f"no command is called {command!r}")


def _run(count: int, call: Any) -> list[int]:
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
