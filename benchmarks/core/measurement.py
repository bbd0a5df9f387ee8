"""One measurement: what was measured on what, beside what was asked and what others published."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass, fields

UNITS = frozenset({"count", "bytes", "share", "ratio", "ms", "s", "yes/no", "text", "number"})


@dataclass(frozen=True, slots=True)
class Ask:
    """A bound on the median of a measurement: at least, at most, or both."""

    text: str
    _: KW_ONLY
    at_least: float = -math.inf
    at_most: float = math.inf

    def met(self, value: float) -> bool:
        """True if the value lies within the bounds; never for NaN."""
        return self.at_least <= value <= self.at_most


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One row of a result file.

    Attributes:
        table: heading of the table that shows it; `subject`: its line there; `metric`: its column.
        unit: one of `UNITS`. Shares are 0 to 1, yes is 1 and no is 0.
        n: repeats behind median, p10 and p90; 0 for a row that only holds published figures.
        text: the value of a `text` row, which has no median.
        published: the rival's figure in the same unit.
        ask, met: what was asked of it, and whether the median meets it.
    """

    table: str
    subject: str
    metric: str
    unit: str
    n: int = 0
    median: float | None = None
    p10: float | None = None
    p90: float | None = None
    text: str | None = None
    published: float | None = None
    ask: str | None = None
    met: bool | None = None

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"unit {self.unit!r} is none of {', '.join(sorted(UNITS))}")

    def row(self) -> dict[str, object]:
        """As JSON, without fields that are None."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_row(cls, row: dict[str, object]) -> Measurement:
        """The measurement of a JSON row; the environment's fields are left out."""
        names = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in row.items() if key in names})


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which `share` of them lie, interpolated linearly between neighbours."""
    ordered = sorted(samples)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line through points by least squares; r_squared is 1 where y is constant."""

    slope: float
    intercept: float
    r_squared: float


def fit_line(x: Sequence[float], y: Sequence[float]) -> Line:
    """Least squares through at least two points with different x."""
    slope, intercept = statistics.linear_regression(x, y)
    mean = statistics.fmean(y)
    total = sum((b - mean) ** 2 for b in y)
    rest = sum((b - slope * a - intercept) ** 2 for a, b in zip(x, y, strict=True))
    return Line(slope=slope, intercept=intercept, r_squared=1 - rest / total if total else 1.0)


@dataclass(frozen=True, slots=True)
class Subject:
    """Makes the measurements of one line of a table."""

    table: str
    name: str

    def measure(
        self,
        metric: str,
        unit: str,
        value: float | Sequence[float],
        *,
        published: float | None = None,
        ask: Ask | None = None,
    ) -> Measurement:
        """A measurement of one value or of several repeats."""
        samples = [float(value)] if isinstance(value, int | float) else [float(v) for v in value]
        median = statistics.median(samples)
        return Measurement(
            table=self.table, subject=self.name, metric=metric, unit=unit, n=len(samples),
            median=median, p10=percentile(samples, 0.1), p90=percentile(samples, 0.9),
            published=published, ask=ask.text if ask else None,
            met=ask.met(median) if ask else None,
        )  # fmt: skip

    def note(self, metric: str, text: str) -> Measurement:
        """A measurement whose value is text."""
        return Measurement(
            table=self.table, subject=self.name, metric=metric, unit="text", n=1, text=text
        )

    def missing(self, metric: str, ask: Ask | None) -> Measurement:
        """A value that could not be measured, and so does not meet what was asked of it."""
        return Measurement(
            table=self.table, subject=self.name, metric=metric, unit="text", text="not measured",
            ask=ask.text if ask else None, met=False if ask else None,
        )  # fmt: skip

    def quote(self, metric: str, unit: str, published: float) -> Measurement:
        """A published figure that has no measurement of ours beside it."""
        return Measurement(
            table=self.table, subject=self.name, metric=metric, unit=unit, published=published
        )
