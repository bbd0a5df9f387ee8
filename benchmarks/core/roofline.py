"""The least time that a model's products with weights can take on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WEIGHT_BYTES = {"fp32": 4, "bf16": 2, "int8": 1}
"""Bytes of an element, by precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """What all measured threads reach together.

    Attributes:
        f32, bf16, int8: operations a second, a multiplication and an addition counting as two, of
            the fastest instructions that the processor has for the type or a wider one.
        read: bytes a second from memory.
    """

    threads: int
    f32: float
    bf16: float
    int8: float
    read: float

    def operations(self, precision: str) -> float:
        """Peak of a precision."""
        return {"fp32": self.f32, "bf16": self.bf16, "int8": self.int8}[precision]


def measure_peaks(threads: int) -> Peaks:
    """Measure now with the loops of the extension."""
    from forge_ugc.profiling import machine
    from forge_ugc.profiling.machine import probe

    machine.probe.cache_clear()  # the machine's state may have changed since
    found = probe(threads)
    return Peaks(
        threads=threads, f32=found.peak("f32") * 1e9, bf16=found.peak("bf16") * 1e9,
        int8=found.peak("i8") * 1e9, read=found.read_gbs * 1e9,
    )  # fmt: skip


def gemm_seconds(linears: Iterable[tuple[int, int, int]], precision: str, peaks: Peaks) -> float:
    """Sum over products of (rows, inputs, outputs): max(operations / peak, weights / bandwidth)."""
    peak, width = peaks.operations(precision), WEIGHT_BYTES[precision]
    return sum(
        max(2 * rows * inputs * outputs / peak, inputs * outputs * width / peaks.read)
        for rows, inputs, outputs in linears
    )
