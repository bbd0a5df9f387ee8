"""RESULTS.html from result files: charts and tables on one page that needs no network."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.core.benchmark import Benchmark, Chart
from benchmarks.core.measurement import Measurement
from benchmarks.core.render import ASKED, asked_lines, pivot, setup_text
from benchmarks.core.results import Results
from forge_ugc.evaluation.page import Section, TextTable, render_page
from forge_ugc.evaluation.plots import can_plot, grouped_bars, stacked_bars

_UNITS = {"bytes": ("MiB", 1 << 20), "s": ("seconds", 1), "ms": ("milliseconds", 1)}
_WITHOUT = "No charts: they need matplotlib (pip install 'forge-ugc[plots]')."


def results_page(results: Mapping[str, Results], benchmarks: Mapping[str, type[Benchmark]]) -> str:
    """The whole page: one section a benchmark that has results."""
    facts = {"written by": "python -m benchmarks, or --render from results/*.json"}
    if not can_plot():
        facts["note"] = _WITHOUT
    sections = [_section(benchmarks[name], results[name]) for name in results]
    return render_page("Results of Forge-UGC", facts, sections)


def _section(cls: type[Benchmark], results: Results) -> Section:
    rows = results.measurements
    tables = []
    asked = asked_lines(rows)
    if asked:
        tables.append(TextTable(title="What was asked", heads=ASKED, rows=tuple(asked)))
    for name in dict.fromkeys(row.table for row in rows):
        heads, lines = pivot([row for row in rows if row.table == name])
        tables.append(TextTable(title=name, heads=tuple(heads), rows=tuple(map(tuple, lines))))
    plain = (inspect.getdoc(cls) or "").replace("`", "").replace("*", "")
    return Section(
        title=cls.title,
        text=(*plain.split("\n\n"), setup_text(results.environment)),
        figures=tuple(_figures(cls.charts, rows)) if can_plot() else (),
        tables=tuple(tables),
    )


def _figures(charts: Sequence[Chart], rows: Sequence[Measurement]) -> Iterator[str]:
    for chart in charts:
        at = {
            (row.subject, row.metric): row
            for row in rows
            if row.table == chart.table and row.metric in chart.metrics and row.median
        }
        if not at:
            continue
        unit, factor = _UNITS.get(next(iter(at.values())).unit, ("", 1))
        subjects = list(dict.fromkeys(subject for subject, _ in at))
        values = {
            metric: [_value(at.get((subject, metric)), factor) for subject in subjects]
            for metric in chart.metrics
        }
        if not chart.stacked:
            yield grouped_bars(chart.table, unit, subjects, values)
            continue
        for group in dict.fromkeys(subject.rpartition(", ")[0] for subject in subjects):
            own = [i for i, s in enumerate(subjects) if s.rpartition(", ")[0] == group]
            labels = [subjects[i].rpartition(", ")[2] for i in own]
            parts = {metric: [found[i] or 0.0 for i in own] for metric, found in values.items()}
            yield stacked_bars(f"{chart.table}: {group}", unit, labels, parts)


def _value(row: Measurement | None, factor: int) -> float | None:
    return None if row is None or row.median is None else row.median / factor
