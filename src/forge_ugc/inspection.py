"""Public questions about targets and compilations: devices() and explain()."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forge_ugc import backends
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
    """What the passes did to a model, and what they nearly did."""

    fired: tuple[Fired, ...]
    near_misses: tuple[NearMiss, ...]

    def __str__(self) -> str:
        """One line an event: rule, what happened, and where in the model."""
        rows = [f"{e.rule}: {e.what}  [{e.location}]" for e in self.fired]
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
    """Every rewrite that fired, and every near miss with its reason and source line."""
    runs = model.result.pipeline.runs
    fired = tuple(d for run in runs for d in run.details)
    return Explanation(fired=fired, near_misses=model.result.pipeline.near_misses)
