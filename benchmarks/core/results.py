"""Result files: one JSON list a benchmark, one line a measurement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.core.environment import Environment
from benchmarks.core.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Results:
    """The measurements of one run of a benchmark."""

    environment: Environment
    measurements: tuple[Measurement, ...]


def dump(results: Results) -> str:
    """The text of a result file: every row holds its environment too."""
    shared = results.environment.row()
    rows = [json.dumps({**m.row(), **shared}) for m in results.measurements]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def parse(text: str) -> Results:
    """The results in a file's text.

    Raises:
        ValueError: it holds no rows, or rows of different runs.
    """
    rows = json.loads(text)
    if not rows:
        raise ValueError("a result file holds at least one row")
    environments = {Environment.from_row(row) for row in rows}
    if len(environments) != 1:
        raise ValueError(f"a result file holds one run, this one holds {len(environments)}")
    return Results(environments.pop(), tuple(map(Measurement.from_row, rows)))


def read_all(folder: Path, names: Sequence[str]) -> dict[str, Results]:
    """The results of those named benchmarks that have a file in the folder."""
    files = {name: folder / f"{name}.json" for name in names}
    return {n: parse(f.read_text(encoding="utf-8")) for n, f in files.items() if f.is_file()}
