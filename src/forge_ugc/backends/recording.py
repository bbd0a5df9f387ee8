"""When one call of a program did what: the raw material of a profile."""

from __future__ import annotations

from dataclasses import dataclass

from forge_ugc.npuir.instruction import Instruction


@dataclass(frozen=True, slots=True)
class Visit:
    """One thread at one step: when it came there, started it after any barrier, ended it."""

    arrived: int
    started: int
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRun:
    """One kernel on all threads.

    Attributes:
        instruction: what it computes, or a part of it.
        kernel, isa: which one, written for which instruction set.
        visits: by thread.
    """

    instruction: Instruction
    kernel: str
    isa: str
    visits: tuple[Visit, ...]

    @property
    def elapsed_ns(self) -> int:
        """Of the thread that took longest."""
        return max(v.ended - v.started for v in self.visits)

    @property
    def busy_ns(self) -> float:
        """Mean over the threads: adds up over steps, as `elapsed_ns` does not."""
        return sum(v.ended - v.started for v in self.visits) / len(self.visits)

    @property
    def wait_ns(self) -> float:
        """In the barrier before it, mean over the threads."""
        return sum(v.started - v.arrived for v in self.visits) / len(self.visits)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRun:
    """One step on the calling thread: a PyTorch operator, or a view of its operand's memory."""

    instruction: Instruction
    began: int
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeCall:
    """One call that runs kernels, from the calling thread's side, waking the others included."""

    began: int
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One call of a program, in the order of its steps.

    Times are nanoseconds of `time.monotonic_ns()`, the clock that the native engine reads as well.
    """

    began: int
    ended: int
    threads: int
    kernels: tuple[KernelRun, ...]
    host: tuple[HostRun, ...]
    calls: tuple[NativeCall, ...]
