"""Worker processes seen from the side that commands them."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

FOREIGN = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Variables that make OpenBLAS, and so NumPy, choose other kernels than it would by itself."""
_SOURCES = Path(__file__).parents[3]
"""The folder that our package lies in: workers run the same code."""
_PATIENCE_SECONDS = 1800.0


class WorkerError(Exception):
    """A worker could not build its model, failed at a command, or is gone; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker builds; see `forge_ugc.evaluation.peers.worker`."""

    engine: str
    model: str
    precision: str
    tokens: int = 128
    threads: int = 2
    layers: int | None = None
    empty: bool = False
    within_memory: bool = False

    def command(self) -> list[str]:
        """The command line of the worker."""
        base = [sys.executable, "-m", "forge_ugc.evaluation.peers.worker"]
        numbers = ["--tokens", str(self.tokens), "--threads", str(self.threads)]
        layers = [] if self.layers is None else ["--layers", str(self.layers)]
        empty = ["--empty"] if self.empty else []
        guard = ["--within-memory"] if self.within_memory else []
        return [*base, self.engine, self.model, self.precision, *numbers, *layers, *empty, *guard]


def environment() -> dict[str, str]:
    """That of this process without foreign settings, with our sources on the path."""
    clean = {key: value for key, value in os.environ.items() if key not in FOREIGN}
    paths = [str(_SOURCES), clean.get("PYTHONPATH", "")]
    return {**clean, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise WorkerError("the process was started without pipes")
    return pipe


class Worker:
    """One worker process: blocked in a read, and so idle, except while it is asked something."""

    def __init__(
        self, job: Job, say: Callable[[str], None], *, patience_seconds: float = _PATIENCE_SECONDS
    ) -> None:
        """Start the process and wait until its model is built.

        Raises:
            WorkerError: it cannot be built.
        """
        self.job = job
        self._patience = patience_seconds
        self._errors: deque[str] = deque(maxlen=30)
        self._process = subprocess.Popen(
            job.command(), env=environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        self._listener = threading.Thread(target=self._listen, args=(say,), daemon=True)
        self._listener.start()
        try:
            self.ready: dict[str, Any] = self._answer()["ready"]
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def ask(self, command: str) -> Any:  # noqa: ANN401 - JSON
        """The answer to a command.

        Raises:
            WorkerError: the command failed, or the process is gone.
        """
        pipe = _open(self._process.stdin)
        try:
            pipe.write(f"{command}\n".encode())
        except BrokenPipeError:
            raise self._gone() from None
        return self._answer()

    def run(self, count: int) -> list[int]:
        """Latencies of that many calls in nanoseconds."""
        found: list[int] = self.ask(f"run {count}")
        return found

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(timeout=5)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _answer(self) -> Any:  # noqa: ANN401 - JSON
        pipe = _open(self._process.stdout)
        if not select.select([pipe], [], [], self._patience)[0]:
            self._process.kill()
            raise WorkerError(f"no answer within {self._patience:.0f} s")
        line = pipe.readline()
        if not line:
            raise self._gone()
        found = json.loads(line)
        if isinstance(found, dict) and "failed" in found:
            raise WorkerError(str(found["failed"]))
        return found

    def _gone(self) -> WorkerError:
        code = self._process.wait()
        self._listener.join(timeout=5)
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        last = next((line for line in reversed(self._errors) if line.strip()), "nothing")
        return WorkerError(f"the process ended with {how}; its last words: {last[:300]}")

    def _listen(self, say: Callable[[str], None]) -> None:
        pipe = _open(self._process.stderr)
        with pipe:
            for raw in pipe:
                line = raw.decode(errors="replace").rstrip()
                if line.startswith("> "):
                    say(line.removeprefix("> "))
                else:
                    self._errors.append(line)
