"""Public questions about targets and compilations: devices() and explain()."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from forge_ugc import backends
from forge_ugc.capture.block_report import RepeatedBlocksReport
from forge_ugc.compiler import CompiledModel
from forge_ugc.passes.base import Fired, NearMiss


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetInfo:
    """One target: whether it can be used here and why (not), its devices in order of preference."""

    name: str
    available: bool
    reason: str
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What capture and the passes did to a model, and what they nearly did."""

    fired: tuple[Fired, ...]
    near_misses: tuple[NearMiss, ...]
    repeated_blocks: RepeatedBlocksReport = field(default_factory=RepeatedBlocksReport)

    def __str__(self) -> str:
        """One line an event: rule, what happened, and where in the model."""
        rows = list(self.repeated_blocks.lines())
        rows += [f"{e.rule}: {e.what}  [{e.location}]" for e in self.fired]
        rows += [f"not {e.rule}: {e.reason}  [{e.location}]" for e in self.near_misses]
        return "\n".join(rows)


def devices() -> Sequence[TargetInfo]:
    """Every known target, available or not."""
    rows = []
    for name, backend in backends.registered().items():
        state = backend.probe()
        rows.append(
            TargetInfo(
                name=name,
                available=state.available,
                reason=state.reason,
                devices=tuple(backend.devices),
            )
        )
    return rows


def explain(model: CompiledModel) -> Explanation:
    """Blocks that were traced once, every rewrite that fired, and every near miss; with reasons."""
    runs = model.result.pipeline.runs
    fired = tuple(d for run in runs for d in run.details)
    return Explanation(
        fired=fired,
        near_misses=model.result.pipeline.near_misses,
        repeated_blocks=model.result.repeated_blocks,
    )
