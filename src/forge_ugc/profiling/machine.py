"""What the machine can do: arithmetic, reading from memory, barriers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from forge_ugc import _native, native
from forge_ugc.errors import OptionError

PRECISIONS = ("f32", "bf16", "i8")
_MIB = 1 << 20
_MAX_COLD_BYTES = 512 * _MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineProbe:
    """Measured limits of this machine with a number of threads of this process.

    Attributes:
        threads: how many worked together; all figures but `read_one_gbs` are of all of them.
        gflops: additions plus multiplications, in 10^9 a second, of loops on registers alone: by
            precision (`f32`, `bf16`, `i8`), then by instruction set. A precision is there only if
            the processor has instructions for it.
        read_gbs: bytes read from a block larger than the caches, in 10^9 a second.
        read_one_gbs: the same with one thread.
        barrier_ns: one barrier.
        call_ns: one call of all threads that does nothing.
        cold_bytes: size of the block that was read.
    """

    threads: int
    gflops: Mapping[str, Mapping[str, float]]
    read_gbs: float
    read_one_gbs: float
    barrier_ns: float
    call_ns: float
    cold_bytes: int

    def peak(self, precision: str, isa: str | None = None) -> float:
        """The most GFLOP/s that code for an instruction set can reach on operands of a precision.

        That may be a loop of a wider type: bfloat16 and 8-bit numbers can be turned into float32,
        and on some processors that is the faster way.

        Args:
            precision: f32, bf16 or i8.
            isa: no instructions beyond this set; None takes all that the processor has.
        """
        allowed = native.cpu_isa()
        allowed = allowed[allowed.index(isa) if isa else 0 :]
        wider = PRECISIONS[: PRECISIONS.index(precision) + 1]
        return max(
            rate
            for kind in wider
            for name, rate in self.gflops.get(kind, {}).items()
            if name in allowed
        )

    def least_ns(self, flops: int, bytes_moved: int, precision: str, isa: str | None) -> float:
        """The roofline: the time below which no code can do this work out of the main memory."""
        return max(flops / self.peak(precision, isa), bytes_moved / self.read_gbs)


@lru_cache(maxsize=1)
def cold_bytes() -> int:
    """A block of this size does not stay in the caches: twice the largest, 128 to 512 MiB."""
    try:
        largest = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (ValueError, OSError):  # a system that does not tell
        largest = 0
    return min(max(2 * largest, 128 * _MIB), _MAX_COLD_BYTES)


@lru_cache(maxsize=16)
def probe(threads: int, *, seconds: float = 1.0) -> MachineProbe:
    """Measure the machine; once in a process for the same arguments.

    Every figure is the best of repetitions of half a millisecond, in which the threads start
    together: other work on the machine can only make a repetition slower. Arithmetic is timed by
    the processor time of each thread.

    Args:
        threads: how many work together.
        seconds: of measuring in all, about.

    Raises:
        BackendUnavailableError: the extension is not built.
        OptionError: no thread, or no time.
    """
    native.cpu_isa()
    if threads < 1:
        raise OptionError(f"threads is {threads}, expected at least 1")
    if not seconds > 0:
        raise OptionError(f"seconds is {seconds}, expected more than 0")
    loops = _native.probe_loops()
    each = seconds / (len(loops) + 6)
    rates: dict[str, dict[str, float]] = {}
    for kind, isa in loops:
        rates.setdefault(kind, {})[isa] = _native.probe_compute(kind, isa, threads, each)
    size = cold_bytes()
    # `each / 2` for each of four numbers of streams. Of several threads one may read alone.
    read_one = _native.probe_read(1, size, each / 2)
    read_all = _native.probe_read(threads, size, each / 2) if threads > 1 else read_one
    return MachineProbe(
        threads=threads,
        gflops=MappingProxyType({kind: MappingProxyType(by_isa) for kind, by_isa in rates.items()}),
        read_gbs=max(read_one, read_all),
        read_one_gbs=read_one,
        barrier_ns=_native.probe_barrier(threads, each),
        call_ns=_native.probe_call(threads, each),
        cold_bytes=size,
    )
