"""RESULTS.md from result files: the only way that file comes to be."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.core.benchmark import Benchmark
from benchmarks.core.environment import Environment
from benchmarks.core.measurement import Measurement
from benchmarks.core.results import Results
from forge_ugc.report.formatting import bytes_text, percent_text

ASKED = ("asked", "reached")
_HEAD = """\
# Results

Written by `python -m benchmarks`, or `--render` from `results/*.json`: do not edit.
Repeated measurements read *median (p10 to p90)*, with n in the column's head.
*Published* figures are those of the systems we compare with, on their machines.
"""


def render(results: Mapping[str, Results], benchmarks: Mapping[str, type[Benchmark]]) -> str:
    """The whole document: one section a benchmark that has results."""
    sections = [_section(benchmarks[name], results[name]) for name in results]
    return "\n".join([_HEAD, *sections])


def _section(cls: type[Benchmark], results: Results) -> str:
    rows = results.measurements
    parts = [
        f"## {cls.title}\n\n{inspect.getdoc(cls)}\n",
        f"Command: `python -m benchmarks {cls.name}`\n\n{setup_text(results.environment)}\n",
    ]
    asked = asked_lines(rows)
    if asked:
        parts.append(_table(ASKED, asked))
    for name in dict.fromkeys(row.table for row in rows):
        parts.append(f"### {name}\n")
        parts.append(_table(*pivot([row for row in rows if row.table == name])))
    return "\n".join(parts)


def setup_text(e: Environment) -> str:
    """What the figures were measured on."""
    return (
        f"Setup: commit {e.commit}, {e.date}, {e.cpu} ({e.isa}), {e.cores} cores, "
        f"{e.threads} threads, torch {e.torch}, transformers {e.transformers}, Python {e.python}."
    )


def asked_lines(rows: Iterable[Measurement]) -> list[tuple[str, str]]:
    """A line for every ask: how many lines meet it, and which do not."""
    by_ask: dict[str, list[Measurement]] = {}
    for row in rows:
        if row.ask is not None:
            by_ask.setdefault(row.ask, []).append(row)
    lines = []
    for ask, found in by_ask.items():
        missed = [f"{row.subject}: {value_text(row)}" for row in found if not row.met]
        if len(found) == 1:
            reached = f"{'yes' if found[0].met else '**no**'}: {value_text(found[0])}"
        elif missed:
            met = len(found) - len(missed)
            reached = f"**{met} of {len(found)}**; not {', '.join(missed)}"
        else:
            reached = f"{len(found)} of {len(found)}"
        lines.append((ask, reached))
    return lines


def pivot(rows: Sequence[Measurement]) -> tuple[list[str], list[list[str]]]:
    """Heads and lines of a table of text.

    Subjects are lines, metrics columns, each beside its published figures if it has any.
    """
    columns: list[tuple[str, bool]] = []
    for metric in dict.fromkeys(row.metric for row in rows):
        columns.append((metric, False))
        if any(row.published is not None for row in rows if row.metric == metric):
            columns.append((metric, True))
    at = {(row.subject, row.metric): row for row in rows}
    heads = [""]
    for metric, published in columns:
        counts = {row.n for row in rows if row.metric == metric and row.n > 1}
        repeats = f" (n = {', '.join(map(str, sorted(counts)))})" if counts else ""
        heads.append("published" if published else metric + repeats)
    lines = []
    for subject in dict.fromkeys(row.subject for row in rows):
        cells = [subject]
        for metric, published in columns:
            row = at.get((subject, metric))
            if row is None:
                cells.append("")
            elif published:
                cells.append("" if row.published is None else number(row.published, row.unit))
            else:
                cells.append(value_text(row))
        lines.append(cells)
    return heads, lines


def value_text(row: Measurement) -> str:
    """The value of a measurement as a table shows it; empty if it has none."""
    if row.text is not None:
        return row.text
    if row.median is None:
        return ""
    text = number(row.median, row.unit)
    if row.n > 1 and row.p10 is not None and row.p90 is not None:
        low, high = (number(v, row.unit).removesuffix(f" {row.unit}") for v in (row.p10, row.p90))
        text += f" ({low} to {high})"
    return text


def number(value: float, unit: str) -> str:
    """A number with its unit."""
    if unit == "yes/no":
        return "yes" if value else "no"
    if unit == "share":
        return percent_text(value)
    if unit == "bytes":
        return bytes_text(int(value))
    if unit == "count":
        return f"{value:,.0f}"
    if unit == "ratio":
        return f"{value:.3f}"
    if unit == "number":
        return f"{value:.3g}"
    return f"{value:,.{1 if value >= 100 else 2}f} {unit}"


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in rows)
