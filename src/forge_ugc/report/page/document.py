"""Everything that the page shows, as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from forge_ugc.npuir.program import Program
from forge_ugc.passes.pass_manager import PassRun
from forge_ugc.report.grouping import Group, group_fired, group_near_misses, node_count
from forge_ugc.report.page.graphs import graphs_document
from forge_ugc.report.page.program import (
    arena_document,
    devices_document,
    instructions_document,
)
from forge_ugc.report.page.strings import Strings

if TYPE_CHECKING:
    from forge_ugc.backends.floorplan import Floorplan
    from forge_ugc.report.document import Json
    from forge_ugc.result import CompilationResult

VERSION = 1


def page_document(
    result: CompilationResult, program: Program, profile: Mapping[str, Json] | None
) -> dict[str, Json]:
    """The document. Times in seconds, those of the profile in nanoseconds; sizes in bytes.

    Texts of graphs, instructions and arena are numbers into `strings`. Linear in the size of the
    program and of the graphs that were kept.
    """
    strings = Strings()
    order = result.schedule
    document: dict[str, Json] = {
        "version": VERSION,
        "phases": [[name, seconds] for name, seconds in result.phase_seconds.items()],
        "passes": [_run(run) for run in result.pipeline.runs],
        "graphs": graphs_document(result.pipeline, strings),
        "instructions": instructions_document(program, strings),
        "arena": {
            "rows": arena_document(program, strings),
            "peak_bytes": result.buffers.peak_bytes,
            "lower_bound_bytes": result.buffers.lower_bound_bytes,
            "strategy": result.buffers.strategy,
        },
        "schedule": {
            "transitions_before": order.transitions_before,
            "transitions_after": order.transitions_after,
            "moved": order.moved,
            "devices": devices_document(program),
        },
        "profile": None if profile is None else dict(profile),
        "floorplan": None if result.floorplan is None else _floorplan(result.floorplan),
    }
    document["strings"] = list(strings.table)
    return document


def _run(run: PassRun) -> Json:
    before, after = dict(run.before), dict(run.after)
    operators: list[Json] = [
        [name, before.get(name, 0), after.get(name, 0)]
        for name in sorted(before.keys() | after.keys())
    ]
    return {
        "name": run.name,
        "round": run.round,
        "seconds": run.seconds,
        "changed": run.changed,
        "nodes_before": node_count(run.before),
        "nodes_after": node_count(run.after),
        "operators": operators,
        "fired": [_group(group) for group in group_fired(run.details)],
        "refused": [_group(group) for group in group_near_misses(run.near_misses)],
        "max_abs_difference": run.max_abs_difference,
    }


def _group(group: Group) -> Json:
    return [group.rule, group.text, group.module, group.source, group.count]


def _floorplan(plan: Floorplan) -> Json:
    return {
        "device": plan.device,
        "columns": plan.columns,
        "rows": plan.rows,
        "tiles": [asdict(tile) for tile in plan.tiles],
        "streams": [[stream.source, stream.sink] for stream in plan.streams],
    }
