"""Memory of a process as the kernel counts it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

_SAMPLE_SECONDS = 0.002


def _status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}: this needs Linux")


def resident_bytes() -> int:
    """Resident memory of this process now."""
    return _status_bytes("VmRSS")


class PeakMemory:
    """The largest resident memory of this process since `start`.

    The kernel's high-water mark is set back through /proc/self/clear_refs; where that is not
    allowed, a thread looks every two milliseconds instead, which short peaks can escape.
    """

    def __init__(self) -> None:
        self.start_bytes = 0
        self.exact = True
        self._seen = 0

    def start(self) -> None:
        """Begin; what is resident now is `start_bytes`."""
        self.start_bytes = resident_bytes()
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            self.exact = False
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        pause = threading.Event()
        while not pause.wait(_SAMPLE_SECONDS):
            self._seen = max(self._seen, resident_bytes())

    @property
    def peak_bytes(self) -> int:
        """Largest since `start`."""
        return _status_bytes("VmHWM") if self.exact else max(self._seen, resident_bytes())


def processor_seconds(pid: int) -> float:
    """Processor time that all threads of a process have used."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    fields = text.rpartition(")")[2].split()  # from the state on; the name may hold anything
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
