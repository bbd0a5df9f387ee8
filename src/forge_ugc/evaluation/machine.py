"""What the machine that measures is."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from forge_ugc import native
from forge_ugc.errors import BackendUnavailableError


def processor_name() -> str:
    """The processor's name as the kernel gives it."""
    info = Path("/proc/cpuinfo")
    for line in info.read_text(encoding="utf-8").splitlines() if info.is_file() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def instruction_set() -> str:
    """The best instruction set that our kernels are chosen for."""
    try:
        return native.isa_cap()
    except BackendUnavailableError:
        return "none (extension not built)"


def usable_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_facts() -> dict[str, str]:
    """Processor, instruction set, system and Python, as text."""
    return {
        "processor": processor_name(),
        "processors": str(usable_processors()),
        "instructions": instruction_set(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
