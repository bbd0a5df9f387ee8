"""Forge-UGC's own engine, beside which the others are measured."""

from __future__ import annotations

from dataclasses import fields

import torch

import forge_ugc
from benchmarks.peers.engine import Built, CannotBuildError, Engine, engine
from benchmarks.peers.workload import Workload
from forge_ugc import CompiledModel, Options


@engine("forge")
class Forge(Engine):
    """`forge_ugc.compile` for the target `cpu`."""

    packages = ("forge-ugc", "torch")

    def build(self, workload: Workload, precision: str, threads: int) -> Built:
        inputs = workload.inputs
        compiled = forge_ugc.compile(workload.module, inputs, options=options(precision, threads))

        def call() -> torch.Tensor:
            return compiled(*inputs)

        return Built(call=call, output=call, details=_details(compiled))


def options(precision: str, threads: int | None = None) -> Options:
    """Options of a precision and a number of threads.

    Raises:
        CannotBuildError: this version computes in the module's own types alone.
    """
    if "precision" in {field.name for field in fields(Options)}:
        return Options(precision=precision, threads=threads)  # type: ignore[call-arg]
    if precision != "fp32":
        raise CannotBuildError(f"Options has no precision yet, so that {precision} cannot be asked")
    return Options(threads=threads)


def _details(compiled: CompiledModel) -> dict[str, object]:
    result = compiled.result
    return {
        "host instructions": sum(result.host_instructions.values()),
        "arena bytes": result.buffers.peak_bytes,
        "constant bytes": result.constant_bytes,
    }
