"""Times in the output files of `aiesimulator`: `T 12.8 ns` before each line of values."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from forge_ugc.errors import SimulationError

_STAMP = re.compile(r"^\s*T\s+(\d+(?:\.\d+)?)\s*(s|ms|us|ns|ps|fs)\s*$")
_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0, "ps": 1e-3, "fs": 1e-6}


@dataclass(frozen=True, slots=True)
class Stamps:
    """Nanoseconds from the start of the simulation at which each line of a port left."""

    ns: tuple[float, ...]

    def interval_ns(self, lines: int) -> float:
        """Mean time between the first lines of iterations of `lines` lines each.

        Raises:
            SimulationError: there are fewer than two iterations.
        """
        starts = self.ns[::lines]
        if len(starts) < 2:
            raise SimulationError(
                "one iteration has no interval", why=f"{len(self.ns)} lines of {lines} each",
                fix="simulate two jets or more",
            )  # fmt: skip
        return (starts[-1] - starts[0]) / (len(starts) - 1)

    @property
    def first_ns(self) -> float:
        """When the first line left."""
        return self.ns[0]


def read_stamps(path: Path) -> Stamps:
    """The time stamps of a file.

    Raises:
        SimulationError: it has none, or they run backwards.
    """
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        match = _STAMP.match(line)
        if match:
            found.append(float(match[1]) * _NS[match[2]])
    if not found:
        raise SimulationError(
            f"{path.name} has no time stamps", where=str(path.parent),
            fix="run aiesimulator without --output-time-stamp=no",
        )  # fmt: skip
    if any(later < earlier for earlier, later in itertools.pairwise(found)):
        raise SimulationError(f"the time stamps of {path.name} run backwards",
                              where=str(path.parent))  # fmt: skip
    return Stamps(tuple(found))
