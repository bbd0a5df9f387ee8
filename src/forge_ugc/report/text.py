"""The report of a compilation as plain text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType

from forge_ugc.report.grouping import group_near_misses
from forge_ugc.report.tables import (
    group_table,
    pass_table,
    phase_table,
    quantization_tables,
    summary_table,
)

if TYPE_CHECKING:
    from forge_ugc.result import CompilationResult

WIDTH = 100


def report_tables(result: CompilationResult) -> list[RenderableType]:
    """Summary, phases, passes, and near misses if there are any."""
    tables: list[RenderableType] = [summary_table(result), phase_table(result), pass_table(result)]
    if result.quantization is not None:
        tables += quantization_tables(result.quantization)
    missed = group_near_misses(result.pipeline.near_misses)
    if missed:
        tables.append(group_table("Near misses", "why it did not fire", missed))
    return tables


def render(*parts: RenderableType, width: int = WIDTH) -> str:
    """Rich objects as text without colours, one below the other."""
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, force_terminal=False)
    for part in parts:
        console.print(part)
    return out.getvalue()


def render_report(result: CompilationResult, *, width: int = WIDTH) -> str:
    """The whole report as text."""
    return render(*report_tables(result), width=width)
