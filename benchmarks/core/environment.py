"""The setup that a measurement is worth nothing without."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from forge_ugc.evaluation.machine import instruction_set, processor_name, usable_processors

ROOT = Path(__file__).parents[2]
_OWN_FILES = (":!benchmarks/results", ":!benchmarks/RESULTS.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Commit, machine and versions; the same for all rows of one run.

    Attributes:
        commit: of this repository; ends in `-dirty` if tracked files other than results differ.
        isa: best instruction set that our kernels are chosen for.
        cores: processors this process may use; `threads`: those that PyTorch uses.
        date: UTC, ISO 8601, to the minute.
    """

    commit: str
    cpu: str
    isa: str
    cores: int
    threads: int
    torch: str
    transformers: str
    python: str
    date: str

    def row(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: dict[str, object]) -> Environment:
        """The environment of a JSON row."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})


def current() -> Environment:
    """The setup of this process."""
    import torch

    return Environment(
        commit=_commit(),
        cpu=processor_name(),
        isa=instruction_set(),
        cores=usable_processors(),
        threads=torch.get_num_threads(),
        torch=torch.__version__,
        transformers=metadata.version("transformers"),
        python=platform.python_version(),
        date=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%MZ"),
    )


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _commit() -> str:
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *_OWN_FILES)
    return _git("rev-parse", "--short=12", "HEAD") + ("-dirty" if changed else "")
