"""The figures of a compilation as rich tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from forge_ugc.report.formatting import bytes_text, percent_text, plain_table, seconds_text
from forge_ugc.report.grouping import Group, node_count

if TYPE_CHECKING:
    from forge_ugc.quantization.report import QuantizationReport
    from forge_ugc.result import CompilationResult


def summary_table(result: CompilationResult) -> Table:
    """Graph, program and memory, one figure a line."""
    buffers, order = result.buffers, result.schedule
    fused = ", ".join(f"{count} {name}" for name, count in sorted(result.fused_operators.items()))
    host = sum(result.host_instructions.values())
    bound = buffers.lower_bound_bytes
    above = buffers.peak_bytes / bound - 1 if bound else 0.0
    rows = {
        "graph nodes": f"{result.nodes_before} -> {result.nodes_after} "
        f"({percent_text(result.node_reduction)} fewer)",
        "fused operators": fused or "none",
        "attention fused": str(result.attention_fused),
        "precision": result.precision or "as the model's",
        "instructions": f"{result.instructions}, of which {host} run through PyTorch (host)",
        "registers -> buffers": f"{buffers.registers} -> {buffers.buffers} in the arena "
        f"+ {buffers.external_buffers} outside ({percent_text(buffers.rho)} fewer)",
        "arena": f"{bytes_text(buffers.peak_bytes)}, {percent_text(above)} above the largest live "
        f"set ({buffers.strategy})",
        "constants": bytes_text(result.constant_bytes),
        "device transitions": f"{order.transitions_before} -> {order.transitions_after}",
    }
    if result.runs:
        rows["results by"] = result.runs
    table = plain_table(f"{result.model} for {result.target}", ("figure", "value"), ())
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def quantization_tables(report: QuantizationReport) -> list[Table]:
    """Fidelity of an integer model, and what each of its layers adds; on the calibration data."""
    fidelity = plain_table("Quantisation", ("figure", "value"), ())
    rows = {
        "ranges": f"{report.method}, over {report.jets} jets",
        "softmax": report.softmax,
        "KL divergence": f"{report.kl_mean:.2e} mean, {report.kl_max:.2e} max",
        "same decisions": percent_text(report.agreement),
        "relative error": percent_text(report.relative_error),
        "max-abs error": f"{report.max_abs_error:.3g}",
    }
    for name, value in rows.items():
        fidelity.add_row(name, value)
    layers = plain_table("Integer layers", ("layer", "kind"), ("step", "noise", "saturated"))
    for layer in report.layers:
        layers.add_row(
            escape(layer.name), layer.kind, f"{layer.step:.3g}", percent_text(layer.noise),
            percent_text(layer.saturated),
        )  # fmt: skip
    return [fidelity, layers]


def phase_table(result: CompilationResult) -> Table:
    """Wall clock of each phase."""
    table = plain_table("Phases", ("phase",), ("time", "share"))
    for name, seconds in result.phase_seconds.items():
        share = seconds / result.seconds if result.seconds else 0.0
        table.add_row(name, seconds_text(seconds), percent_text(share))
    table.add_section()
    table.add_row("all", seconds_text(result.seconds), "")
    return table


def pass_table(result: CompilationResult) -> Table:
    """Each run of each pass: time, rewrites, nodes; with verified passes the difference."""
    runs = result.pipeline.runs
    verified = any(run.max_abs_difference is not None for run in runs)
    columns = ["round", "time", "rewrites", "nodes"] + ["max-abs difference"] * verified
    table = plain_table("Passes", ("pass",), columns)
    last = None
    for run in runs:
        if last not in (None, run.round):
            table.add_section()
        last = run.round
        nodes = f"{node_count(run.before)} -> {node_count(run.after)}"
        row = [run.name, str(run.round), seconds_text(run.seconds), str(run.changed), nodes]
        if verified:
            row.append("" if run.max_abs_difference is None else f"{run.max_abs_difference:.1e}")
        table.add_row(*row)
    table.add_section()
    table.add_row("all", "", seconds_text(result.pipeline.seconds))
    return table


def operator_table(before: Mapping[str, int], after: Mapping[str, int]) -> Table:
    """Operator calls before and after the passes."""
    table = plain_table("Operators", ("operator",), ("before", "after"))
    names = sorted(before.keys() | after.keys(), key=lambda n: (-before.get(n, 0), n))
    for name in names:
        table.add_row(name, str(before.get(name, 0) or ""), str(after.get(name, 0) or ""))
    return table


def group_table(title: str, column: str, groups: Iterable[Group]) -> Table:
    """Rewrites or near misses by rule, with their place in the model."""
    table = plain_table(title, ("rule", column, "module and source line"), ("count",))
    by_rule: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        by_rule[group.rule].append(group)
    for rule, members in sorted(by_rule.items()):
        for index, group in enumerate(members):
            name = rule if index == 0 else ""
            place = "\n".join(filter(None, (group.module, _short(group.source))))
            table.add_row(name, escape(group.text), escape(place), str(group.count))
        table.add_section()
    return table


def _short(source: str) -> str:
    """A source line without the folder of installed packages or the current folder."""
    _, installed, rest = source.rpartition("/site-packages/")
    return rest if installed else source.removeprefix(f"{Path.cwd()}/")
