"""What a simulation found: outputs, and the account of every kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PortAccount:
    """What passed at one port of a kernel.

    Attributes:
        port: `in[0]`, `out[1]`; peer: what is at the other end.
        unit: of count: `words` (32 bit), `bytes` of buffers, `beats` of the cascade.
        stall_cycles: how long the kernel waited there: for data, or for room.
    """

    port: str
    peer: str
    unit: str
    count: int
    stall_cycles: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelAccount:
    """One kernel on its tile, in cycles of the array's clock.

    Attributes:
        tile: (column, row) if the graph places it.
        start_cycle, end_cycle: first and last moment inside of an iteration.
        busy_cycles, stalled_cycles: add up to the time between them.
        slots: cycles of issue by slot: vector, load, store, scalar, move.
        initiation_interval: cycles from one iteration's start to the next, on average; None if
            there was one.
        spans: (start, end) of the first 4096 iterations.
        stack_bytes: deepest on this machine, whose frames are not those of the AI Engine.
        narrowed_in_default_modes: vectors narrowed before the kernel set rounding or saturation.
    """

    name: str
    source: str
    tile: tuple[int, int] | None
    runtime_ratio: float
    iterations: int
    start_cycle: float
    end_cycle: float
    stalled_cycles: float
    slots: Mapping[str, float]
    prologue_cycles: float
    loops: int
    macs: float
    narrowed_in_default_modes: float
    stack_bytes: int
    ports: tuple[PortAccount, ...]
    spans: tuple[tuple[float, float], ...]

    @property
    def busy_cycles(self) -> float:
        """Time inside of iterations that was not spent waiting."""
        return max(0.0, self.end_cycle - self.start_cycle - self.stalled_cycles)

    @property
    def initiation_interval(self) -> float | None:
        """Average distance of the starts of iterations."""
        return _interval([start for start, _ in self.spans])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlioAccount:
    """One PLIO.

    Attributes:
        words: 32-bit words that passed, of total_words in the file of an input.
        first_cycle, last_cycle: when the first and the last one passed; -1 if none did.
        iteration_ends: of an output, when the last word of each iteration came.
    """

    name: str
    file: str
    is_input: bool
    bits: int
    words: int
    total_words: int
    first_cycle: float
    last_cycle: float
    iteration_ends: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """What a simulation found.

    Attributes:
        outputs: file of each output PLIO, by the name that the graph gives it.
        exit_code: of the graph's main.
        log: what the program printed.
        warnings: data left unread, kernels that rely on default modes, and the like.
        build_seconds, run_seconds: of this machine.
    """

    graph: Path
    device: str
    clock_hz: float
    outputs: Mapping[str, Path]
    kernels: tuple[KernelAccount, ...]
    plios: tuple[PlioAccount, ...]
    warnings: tuple[str, ...]
    exit_code: int
    log: str
    build_seconds: float
    run_seconds: float

    @property
    def latency_cycles(self) -> float | None:
        """First word into the array to the first word out of it."""
        first_in = [p.first_cycle for p in self.plios if p.is_input and p.first_cycle >= 0]
        first_out = [p.first_cycle for p in self.plios if not p.is_input and p.first_cycle >= 0]
        return min(first_out) - min(first_in) if first_in and first_out else None

    @property
    def interval_cycles(self) -> float | None:
        """Cycles from one iteration to the next at the slowest output; None if there was one."""
        found = [_interval(p.iteration_ends) for p in self.plios if not p.is_input]
        known = [interval for interval in found if interval is not None]
        return max(known, default=None)

    def seconds(self, cycles: float) -> float:
        """Time of that many cycles."""
        return cycles / self.clock_hz


def _interval(times: tuple[float, ...] | list[float]) -> float | None:
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None
