"""The figures of a compilation as a JSON document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeAlias

from forge_ugc.passes.base import Fired, NearMiss
from forge_ugc.report.grouping import Group, group_fired, group_near_misses, node_count

if TYPE_CHECKING:
    from forge_ugc.result import CompilationResult

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
VERSION = 1


def result_document(result: CompilationResult) -> dict[str, Json]:
    """Every figure of a compilation. Times are in seconds, sizes in bytes."""
    pipeline, buffers, order = result.pipeline, result.buffers, result.schedule
    return {
        "version": VERSION,
        "model": result.model,
        "target": result.target,
        "precision": result.precision,
        "seconds": result.seconds,
        "phase_seconds": dict(result.phase_seconds),
        "nodes": {
            "before": result.nodes_before,
            "after": result.nodes_after,
            "reduction": result.node_reduction,
            "by_operator_before": dict(result.captured_operators),
            "by_operator_after": dict(result.optimized_operators),
        },
        "fused_operators": dict(result.fused_operators),
        "attention_fused": result.attention_fused,
        "passes": [
            {
                "name": run.name, "round": run.round, "seconds": run.seconds,
                "nodes_before": node_count(run.before), "nodes_after": node_count(run.after),
                "changed": run.changed, "max_abs_difference": run.max_abs_difference,
            }
            for run in pipeline.runs
        ],
        "instructions": {
            "total": result.instructions,
            "by_opcode": dict(result.instructions_by_opcode),
            "host": dict(result.host_instructions),
        },
        "memory": {
            "registers": buffers.registers,
            "buffers": buffers.buffers,
            "external_buffers": buffers.external_buffers,
            "buffer_reduction": buffers.rho,
            "reused_in_place": buffers.reused_in_place,
            "strategy": buffers.strategy,
            "peak_bytes": buffers.peak_bytes,
            "lower_bound_bytes": buffers.lower_bound_bytes,
            "constant_bytes": result.constant_bytes,
        },
        "transitions": {"before": order.transitions_before, "after": order.transitions_after},
        "near_misses": [_group(g) for g in group_near_misses(pipeline.near_misses)],
    }  # fmt: skip


def explanation_document(
    fired: Iterable[Fired], near_misses: Iterable[NearMiss]
) -> dict[str, Json]:
    """What fired and what nearly did, grouped over layers."""
    return {
        "version": VERSION,
        "fired": [_group(g) for g in group_fired(fired)],
        "near_misses": [_group(g) for g in group_near_misses(near_misses)],
    }


def _group(group: Group) -> Json:
    row: dict[str, Json] = asdict(group)
    return row
