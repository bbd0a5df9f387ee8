"""A comparison of engines as tables of text."""

from __future__ import annotations

from forge_ugc.evaluation.page import TextTable
from forge_ugc.evaluation.side_by_side import PHASES, Comparison, Line
from forge_ugc.report.formatting import bytes_text

_COMPILE = ("engine", *PHASES, "total", "/ forge", "CEI")
_SPEED = ("engine", "threads", "median", "P99", "/ forge", "tokens/s", "energy a call")
_SIZE = ("engine", "peak memory", "beside module", "on disk", "largest difference", "mean KL")


def comparison_tables(comparison: Comparison) -> tuple[TextTable, ...]:
    """Compile time, speed, then size and fidelity; one line an engine, and one a failure."""
    ran = [line for line in comparison.lines if line.failure is None]
    failed = [(line.engine, line.failure) for line in comparison.lines if line.failure is not None]
    tables = (
        TextTable(title="Compile time", heads=_COMPILE, rows=tuple(map(_compile_row, ran))),
        TextTable(title="Speed", heads=_SPEED, rows=tuple(map(_speed_row, ran))),
        TextTable(title="Size and fidelity", heads=_SIZE, rows=tuple(map(_size_row, ran))),
        TextTable(title="Not measured", heads=("engine", "why"), rows=tuple(failed)),
    )
    return tuple(table for table in tables if table.rows)


def setup_text(comparison: Comparison) -> str:
    """One line: what all engines have in common."""
    question = comparison.question
    threads = f"{question.threads} thread" + "s" * (question.threads != 1)
    return (
        f"{question.model}: {comparison.parameters / 1e6:,.1f} M parameters; every engine in "
        f"{question.precision} with {threads}; {question.runs} timed calls in turn"
    )


def _compile_row(line: Line) -> tuple[str, ...]:
    phases = line.phases or {}
    return (
        line.engine, *(_seconds(phases.get(name)) for name in PHASES),
        _seconds(line.compile_seconds), _times(line.compile_ratio), _figure(line.cei),
    )  # fmt: skip


def _speed_row(line: Line) -> tuple[str, ...]:
    energy = line.energy_note or ""
    if line.joules is not None:
        energy = f"{line.joules * 1e3:,.1f} mJ"
    return (
        line.engine, str(line.threads), _milliseconds(line.median_ms),
        _milliseconds(line.percentile_ms(99)), _times(line.ratio),
        "" if line.tokens_per_second is None else f"{line.tokens_per_second:,.0f}", energy,
    )  # fmt: skip


def _size_row(line: Line) -> tuple[str, ...]:
    sizes = (line.peak_bytes, line.growth_bytes, line.artifact_bytes)
    figures = (line.max_abs_difference, line.mean_kl)
    return (
        line.engine, *("" if size is None else bytes_text(size) for size in sizes),
        *("" if figure is None else f"{figure:.2g}" for figure in figures),
    )  # fmt: skip


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.3f} s"


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f} ms"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}x"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}"
