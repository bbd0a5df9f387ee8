"""The least time that a model's products with weights can take on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_WEIGHT_BYTES = {"fp32": 4, "bf16": 2, "int8": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """What all measured threads reach together; None where it was not measured.

    Attributes:
        f32, bf16, int8: operations a second, a multiplication and an addition counting as two, of
            the fastest instructions that the processor has for the type.
        read: bytes a second from memory.
    """

    threads: int
    f32: float | None = None
    bf16: float | None = None
    int8: float | None = None
    read: float | None = None

    def operations(self, precision: str) -> float | None:
        """Peak of a precision."""
        return {"fp32": self.f32, "bf16": self.bf16, "int8": self.int8}[precision]


def measure_peaks(threads: int) -> Peaks:
    """Measure now, with kernels of the extension; all None while it has none for that."""
    from forge_ugc import native

    probe = getattr(native, "probe", None)
    if probe is None:
        return Peaks(threads=threads)
    found = probe(threads=threads)
    return Peaks(
        threads=threads, f32=found.f32_flops, bf16=found.bf16_flops, int8=found.int8_ops,
        read=found.read_bytes,
    )  # fmt: skip


def gemm_seconds(
    linears: Iterable[tuple[int, int, int]], precision: str, peaks: Peaks
) -> float | None:
    """Sum over products of (rows, inputs, outputs): max(operations / peak, weights / bandwidth).

    None where a peak is unknown.
    """
    peak = peaks.operations(precision)
    if peak is None or peaks.read is None:
        return None
    width = _WEIGHT_BYTES[precision]
    return sum(
        max(2 * rows * inputs * outputs / peak, inputs * outputs * width / peaks.read)
        for rows, inputs, outputs in linears
    )
