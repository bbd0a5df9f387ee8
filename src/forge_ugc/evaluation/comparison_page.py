"""A comparison of engines as an HTML page."""

from __future__ import annotations

from forge_ugc.evaluation.comparison_tables import comparison_tables, setup_text
from forge_ugc.evaluation.page import Section, render_page
from forge_ugc.evaluation.plots import can_plot, stacked_bars
from forge_ugc.evaluation.side_by_side import PHASES, Comparison


def comparison_page(comparison: Comparison) -> str:
    """The page: charts, if matplotlib is installed, above the tables."""
    text = [setup_text(comparison)]
    figures: tuple[str, ...] = ()
    if can_plot():
        figures = _figures(comparison)
    else:
        text.append("No charts: they need matplotlib (pip install 'forge-ugc[plots]').")
    tables = comparison_tables(comparison)
    versions: dict[str, str] = {}
    for line in comparison.lines:
        versions |= line.versions
    section = Section(
        title="Engines side by side", text=tuple(text), figures=figures, tables=tables
    )
    facts = {**comparison.machine, **versions}
    return render_page(f"forge-ugc bench {comparison.question.model}", facts, [section])


def _figures(comparison: Comparison) -> tuple[str, ...]:
    ran = [line for line in comparison.lines if line.failure is None]
    if not ran:
        return ()
    labels = [line.engine for line in ran]
    phases = {name: [(line.phases or {}).get(name, 0.0) for line in ran] for name in PHASES}
    latencies = {"median": [line.median_ms or 0.0 for line in ran]}
    return (
        stacked_bars("Compile time", "seconds", labels, phases),
        stacked_bars("Latency, median", "milliseconds", labels, latencies),
    )
