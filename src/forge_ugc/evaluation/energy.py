"""Energy of the processor, where the kernel shows its counters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_POWERCAP = Path("/sys/class/powercap")


class NoCounterError(Exception):
    """The machine shows no energy counter that this user may read; the text says which."""


@dataclass(frozen=True, slots=True)
class EnergyCounter:
    """The packages' counters of RAPL (Linux powercap), in microjoules, which wrap.

    They count everything that runs on the packages, and idling too.
    """

    packages: tuple[Path, ...]

    @classmethod
    def find(cls, folder: Path = _POWERCAP) -> EnergyCounter:
        """The counters of all packages.

        Raises:
            NoCounterError: there are none, or they cannot be read.
        """
        # A package is intel-rapl:0; its parts are intel-rapl:0:1. AMD's have the same names.
        found = tuple(
            path for path in sorted(folder.glob("intel-rapl:*")) if path.name.count(":") == 1
        )
        if not found:
            raise NoCounterError("no counter (the kernel shows no RAPL package)")
        counter = cls(found)
        counter.read()
        return counter

    def read(self) -> tuple[int, ...]:
        """Microjoules of each package now.

        Raises:
            NoCounterError: a counter cannot be read.
        """
        try:
            return tuple(_number(path / "energy_uj") for path in self.packages)
        except (OSError, ValueError) as error:
            raise NoCounterError(f"no counter (RAPL cannot be read: {error})") from error

    def joules_since(self, before: tuple[int, ...]) -> float:
        """Joules of all packages since `before`; a counter may have wrapped once.

        Raises:
            NoCounterError: a counter cannot be read.
        """
        total = 0
        for path, start, end in zip(self.packages, before, self.read(), strict=True):
            if end < start:
                try:
                    end += _number(path / "max_energy_range_uj")
                except (OSError, ValueError) as error:
                    raise NoCounterError(f"no counter (RAPL wrapped: {error})") from error
            total += end - start
        return total / 1e6


def _number(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))
