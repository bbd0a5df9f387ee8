"""Forge-UGC's own engine, beside which the others are measured."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch

from forge_ugc.compiler import CompiledModel, compile
from forge_ugc.evaluation.peers.engine import Built, Engine, engine, require_precision
from forge_ugc.evaluation.peers.workload import Workload
from forge_ugc.options import PRECISIONS, Options

_CONVERT = ("passes", "lowering", "scheduling", "allocation")


@engine("forge")
class Forge(Engine):
    """`forge_ugc.compile` for the target `cpu`.

    Its capture counts as export, all up to the allocated program as convert, the rest as compile.
    """

    packages = ("forge-ugc", "torch")

    def build(self, workload: Workload, precision: str, threads: int) -> Built:
        inputs = workload.inputs
        start = time.perf_counter()
        compiled = compile(workload.module, inputs, options=options(precision, threads))
        seconds = time.perf_counter() - start

        def call() -> torch.Tensor:
            result: torch.Tensor = compiled(*inputs)
            return result

        return Built(
            call=call, output=call, details=_details(compiled),
            phases=_phases(compiled.result.phase_seconds, seconds),
            artifact_bytes=partial(_saved_bytes, compiled),
        )  # fmt: skip


def options(precision: str, threads: int | None = None) -> Options:
    """Options of a precision and a number of threads.

    Raises:
        CannotBuildError: there is no such precision.
    """
    require_precision("forge", precision, PRECISIONS)
    return Options(precision=precision, threads=threads)


def _phases(seconds: Mapping[str, float], total: float) -> dict[str, float]:
    """What lies between the compiler's own phases counts as compile."""
    convert = sum(seconds.get(name, 0.0) for name in _CONVERT)
    export = seconds["capture"]
    return {"export": export, "convert": convert, "compile": total - export - convert}


def _saved_bytes(compiled: CompiledModel) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.forge"
        compiled.save(path)
        return path.stat().st_size


def _details(compiled: CompiledModel) -> dict[str, object]:
    result = compiled.result
    return {
        "host instructions": sum(result.host_instructions.values()),
        "arena bytes": result.buffers.peak_bytes,
        "constant bytes": result.constant_bytes,
    }
