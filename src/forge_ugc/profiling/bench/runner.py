"""Runs a case as a program of the engine runs the kernel, and takes its time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING

import torch

from forge_ugc import _native, native
from forge_ugc.backends.cpu.emitter import Space
from forge_ugc.profiling.bench.case import Case, Fields, cases_of
from forge_ugc.profiling.machine import cold_bytes

if TYPE_CHECKING:
    from forge_ugc.profiling.machine import MachineProbe

_LEAST_SAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A kernel's variant on one shape.

    Attributes:
        time_ns: one in ten runs was faster: robust against what else the machine does.
        median_ns: half of them were.
        samples: how many runs there were.
        least_ns: the roofline's time.
    """

    kernel: str
    isa: str
    case: Case
    time_ns: float
    median_ns: float
    samples: int
    least_ns: float

    @property
    def gflops(self) -> float:
        """10^9 operations a second."""
        return self.case.flops / self.time_ns

    @property
    def gbs(self) -> float:
        """10^9 bytes a second."""
        return self.case.bytes_moved / self.time_ns

    @property
    def roofline_share(self) -> float:
        """`least_ns` of `time_ns`."""
        return self.least_ns / self.time_ns


def chosen(*, containing: str = "", isa: str | None = None) -> Iterator[tuple[str, str, Case]]:
    """Kernel, instruction set and case of everything that this processor can measure.

    Args:
        containing: only kernels with this in their name.
        isa: only variants for this set.
    """
    available = native.cpu_isa()
    for kernel, sets in native.kernel_table().items():
        if containing not in kernel:
            continue
        for case in cases_of(kernel):
            for name in sets:
                if name in available and isa in (None, name):
                    yield kernel, name, case


def measure(
    kernel: str, isa: str, case: Case, machine: MachineProbe, *, seconds: float
) -> Measured:
    """Time one variant with the threads that the machine was measured with.

    A run is one step of a program with a barrier before it, and takes as long as its slowest
    thread.
    """
    samples = _samples(kernel, isa, case, machine.threads, seconds)
    deciles = quantiles(samples, n=10, method="inclusive")
    arithmetic = case.flops / machine.peak(case.precision, isa)
    from_memory = case.bytes_moved / machine.read_gbs if case.cold else 0.0
    return Measured(
        kernel=kernel, isa=isa, case=case, time_ns=max(deciles[0], 1.0), median_ns=deciles[4],
        samples=len(samples), least_ns=max(arithmetic, from_memory),
    )  # fmt: skip


def _samples(kernel: str, isa: str, case: Case, threads: int, seconds: float) -> list[int]:
    fields = case.fields(isa)
    program = _native.Program(threads, False)
    kept = []  # memory that the program only knows by address
    for copy in _copies(fields, case.cold):
        kept.append(copy)
        program.add(kernel, _values(kernel, copy), True, isa)
    frame = _native.Frame(program, 0)
    times = torch.zeros(len(program), threads, 3, dtype=torch.int64)
    found: list[int] = []
    deadline = time.monotonic() + seconds
    at = 0
    frame.run(at, at + 1, program, [], None)
    while len(found) < _LEAST_SAMPLES or time.monotonic() < deadline:
        at = (at + 1) % len(program)
        frame.run(at, at + 1, program, [], times[at : at + 1])
        _, started, ended = times[at].unbind(1)
        found.append(int((ended - started).max()))
    return found


def _copies(fields: Fields, cold: tuple[str, ...]) -> Iterator[Fields]:
    """The fields with as many copies of the cold ones as it takes to outgrow the caches."""
    yield fields
    size = sum(_size(fields[name]) for name in cold)
    for _ in range(-(-cold_bytes() // size) if size else 0):
        yield {**fields, **{name: _copy(fields[name]) for name in cold}}


def _size(value: object) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return sum(_size(item) for item in value) if isinstance(value, list) else 0


def _copy(value: object) -> object:
    if isinstance(value, torch.Tensor):
        # In huge pages, as the engine keeps its weights.
        room = _native.allocate(max(_size(value), 1))
        return room[: _size(value)].copy_(value.reshape(-1).view(torch.uint8))
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _values(kernel: str, fields: Fields) -> dict[str, object]:
    """What a program takes: addresses for tensors, the engine's own memory where it provides it."""
    plain = {
        name: [_address(item) for item in value] if isinstance(value, list) else _address(value)
        for name, value in fields.items()
    }
    known = {name for name, _, _, _ in _native.kernel_fields(kernel)}
    if "scratch" in known:
        plain["scratch"] = (Space.SCRATCH, 0, 0)
    if "status" in known:
        plain |= {"status": (Space.STATUS, 0, 0), "step": 1}
    return plain


def _address(value: object) -> object:
    return value.data_ptr() if isinstance(value, torch.Tensor) else value
