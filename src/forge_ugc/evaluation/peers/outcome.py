"""What one engine did with one model in one precision."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from forge_ugc.evaluation.fidelity import Fidelity, compare_logits
from forge_ugc.evaluation.peers.line_up import Entry


@dataclass(slots=True)
class Outcome:
    """Figures of one engine; those that were not reached are empty.

    Attributes:
        ready: what the worker said of its build.
        times_ms: latencies of the timed calls.
        forge_ms: those of ours in the same interleaving.
        memory: of the worker at the end.
        fidelity: beside eager in float32.
        cold, energy, artifact_bytes: answers of the worker of those names, in a thorough session.
        failure: the message of the engine, if it failed.
    """

    entry: Entry
    ready: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON
    times_ms: list[float] = field(default_factory=list)
    forge_ms: list[float] = field(default_factory=list)
    waiting_share: float = 0.0
    memory: Mapping[str, Any] = field(default_factory=dict)
    fidelity: Fidelity | None = None
    failure: str | None = None
    cold: Mapping[str, Any] = field(default_factory=dict)
    energy: Mapping[str, Any] = field(default_factory=dict)
    artifact_bytes: int | None = None

    @property
    def median_ms(self) -> float | None:
        """Median latency, if the engine ran."""
        return statistics.median(self.times_ms) if self.times_ms and not self.failure else None

    @property
    def ratio(self) -> float | None:
        """Its median over that of ours in the same interleaving, if both ran."""
        if self.median_ms is None or not self.forge_ms:
            return None
        return self.median_ms / statistics.median(self.forge_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Eager in float32.

    Attributes:
        output: file with its result.
        linears: (rows, inputs, outputs) of its products with weights.
        logits: True if the result is logits over a vocabulary.
    """

    output: Path
    linears: Sequence[tuple[int, int, int]]
    parameters: int
    logits: bool


def compare(reference: Reference, output: Path) -> Fidelity:
    """The difference of a result from the reference's.

    The divergence means something for logits alone.
    """
    want, got = (torch.from_numpy(np.load(path)) for path in (reference.output, output))
    return compare_logits(want, got)


def fastest(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The engine whose median is the smallest part of ours in the same interleaving.

    Where ours did not run: the one with the smallest median; None where no engine ran.
    """
    ran = [outcome for outcome in outcomes if outcome.median_ms is not None]
    if not ran:
        return None
    return min(ran, key=lambda o: (o.ratio is None, o.ratio or 0.0, o.median_ms or 0.0))
