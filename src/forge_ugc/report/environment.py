"""Versions and processor of this process."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

_PACKAGES = ("torch", "transformers", "numpy")


def processor() -> str:
    """The name that the processor gives itself."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def environment() -> dict[str, str]:
    """Names and values; packages that are not installed are left out."""
    import torch

    import forge_ugc

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    rows = {"forge-ugc": forge_ugc.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            rows[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    rows["platform"] = platform.platform()
    rows["processor"] = processor()
    rows["processors"] = f"{usable} usable of {os.cpu_count()}"
    rows["threads of PyTorch"] = str(torch.get_num_threads())
    return rows
