"""Timed runs of several workers in turn, A B C A B C."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from forge_ugc.evaluation.peers.process_memory import processor_seconds
from forge_ugc.evaluation.peers.workers import Worker, WorkerError

# After its last call an engine's threads may spin for a while before they sleep.
_PAUSE_SECONDS = 0.05


@dataclass(slots=True)
class Timing:
    """What one worker did.

    Attributes:
        nanoseconds: latencies of the timed calls.
        waiting_share: processors that it used on average while others ran.
        failure: why it stopped early, if it did.
    """

    nanoseconds: list[int] = field(default_factory=list)
    waiting_share: float = 0.0
    failure: str | None = None


def interleave(
    workers: Mapping[str, Worker], *, runs: int, warm_ups: int, block: int = 5
) -> dict[str, Timing]:
    """Let every worker warm up, then all run in turn in blocks until each has made its runs.

    The first call of a block is not counted: the caches hold the data of another engine then.
    A worker that fails is left out from there on.
    """
    found = {name: Timing() for name in workers}
    clocks = {name: _Waiting(worker.pid) for name, worker in workers.items()}
    for name, worker in workers.items():
        _calls(worker, warm_ups, found[name])
    for clock in clocks.values():
        clock.start()
    for done in range(0, runs, block):
        count = min(block, runs - done)
        for name, worker in workers.items():
            if found[name].failure is not None:
                continue
            with clocks[name]:
                found[name].nanoseconds += _calls(worker, count + 1, found[name])[1:]
                time.sleep(_PAUSE_SECONDS)
    for name, clock in clocks.items():
        if found[name].failure is None:
            found[name].waiting_share = clock.share()
    return found


def _calls(worker: Worker, count: int, timing: Timing) -> list[int]:
    if timing.failure is not None or not count:
        return []
    try:
        return worker.run(count)
    except WorkerError as error:
        timing.failure = str(error)
        return []


class _Waiting:
    """Processor time that a process uses outside its own turns."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._begin = self._own = (0.0, 0.0)
        self._entered = (0.0, 0.0)

    def _now(self) -> tuple[float, float]:
        """Processor time and wall clock; the process may be gone."""
        try:
            return processor_seconds(self._pid), time.perf_counter()
        except OSError:
            return 0.0, time.perf_counter()

    def start(self) -> None:
        self._begin = self._now()

    def __enter__(self) -> None:
        self._entered = self._now()

    def __exit__(self, *error: object) -> None:
        now = self._now()
        self._own = tuple(  # type: ignore[assignment]
            own + b - a for own, a, b in zip(self._own, self._entered, now, strict=True)
        )

    def share(self) -> float:
        """Processor seconds a second outside its turns; 0 if there was no such time."""
        used, wall = (
            b - a - own for a, b, own in zip(self._begin, self._now(), self._own, strict=True)
        )
        return max(used, 0.0) / wall if wall > 0.1 else 0.0
