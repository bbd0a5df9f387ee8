"""Where the time of a compiled program goes, beside what the machine allows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from forge_ugc.backends.recording import Recording
from forge_ugc.npuir.program import Program

if TYPE_CHECKING:
    from forge_ugc.profiling.machine import MachineProbe
    from forge_ugc.report.document import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Work, and how fast it was done.

    Attributes:
        time_ns: of the slowest thread, without waiting; added up over the steps.
        flops, bytes_moved: of the operator's definition, every operand and result moved once.
        least_ns: the roofline's time for it; None without a measured machine.
    """

    time_ns: float
    flops: int
    bytes_moved: int
    least_ns: float | None

    @property
    def gflops(self) -> float:
        """10^9 operations a second."""
        return self.flops / self.time_ns if self.time_ns else 0.0

    @property
    def gbs(self) -> float:
        """10^9 bytes a second. Beyond the memory's rate if data came from caches."""
        return self.bytes_moved / self.time_ns if self.time_ns else 0.0

    @property
    def roofline_share(self) -> float | None:
        """`least_ns` of `time_ns`: 1 is all that the machine can do out of its main memory."""
        return None if self.least_ns is None or not self.time_ns else self.least_ns / self.time_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionProfile:
    """One instruction of the program.

    Attributes:
        index: its place among the program's instructions.
        text: results, opcode and operands with their types.
        kernels: those that compute it, in order; empty if PyTorch does.
        precision: of its first operand: f32, bf16 or i8.
        busy_ns: mean over the threads; adds up to the totals.
        wait_ns: in barriers before its kernels, mean over the threads.
    """

    index: int
    opcode: str
    text: str
    location: str
    kernels: tuple[str, ...]
    precision: str
    rates: Rates
    busy_ns: float
    wait_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile:
    """All steps of one kernel, or of one PyTorch operator.

    Attributes:
        name, isa: the kernel and its instruction set; an opcode and `host`.
        steps: how many there are in a call.
        rates: the work of the instructions in which this kernel takes the most time.
    """

    name: str
    isa: str
    steps: int
    rates: Rates
    busy_ns: float
    wait_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """How the time of one call splits up; the parts add up to `wall_ns`.

    Attributes:
        kernels_ns: in kernels, mean over the threads.
        barriers_ns: waiting in barriers between kernels, mean over the threads.
        calls_ns: in calls of the native engine but in neither: waking threads, waiting at the end.
        host_ns: in instructions that run through PyTorch.
        python_ns: the rest: checking inputs, views, making outputs.
    """

    wall_ns: float
    kernels_ns: float
    barriers_ns: float
    calls_ns: float
    host_ns: float
    python_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Where the time of a program goes.

    Figures are means over the faster half of the recorded calls, so that they add up.

    Attributes:
        program: what a call runs.
        threads: of the native engine.
        wall_ns: of every recorded call, in order.
        instructions: in the order of the program, without views.
        kernels: by kernel and instruction set, the longest first.
        machine: what was measured of the machine; None without the native engine.
        recording: the call of median length among the faster half.
    """

    program: Program
    threads: int
    wall_ns: tuple[int, ...]
    totals: Totals
    instructions: tuple[InstructionProfile, ...]
    kernels: tuple[KernelProfile, ...]
    machine: MachineProbe | None
    recording: Recording

    @property
    def median_ns(self) -> float:
        """Of all recorded calls."""
        return median(self.wall_ns)

    def table(self) -> str:
        """The profile as text."""
        from forge_ugc.profiling.tables import profile_tables
        from forge_ugc.report.text import render

        return render(*profile_tables(self), width=120)

    def to_json(self) -> dict[str, Json]:
        """Every figure; times in nanoseconds."""
        from forge_ugc.profiling.document import profile_document

        return profile_document(self)

    def save_trace(self, path: str | Path) -> None:
        """Write `recording` in the trace-event format that Perfetto and chrome://tracing open."""
        from forge_ugc.profiling.trace import write_trace

        write_trace(self, Path(path))
