"""The published figures of merit of a compiler (arXiv 2604.16498v1)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from forge_ugc.errors import InputError


def compile_efficiency(peer_latency: float, latency: float, compile_seconds: float) -> float:
    """CEI: how much faster than a peer a program is, for each second that compiling it took.

    Args:
        peer_latency, latency: of the peer's program and of ours, in one unit.
        compile_seconds: of ours.

    Raises:
        InputError: one of them is not above zero.
    """
    _require_positive((peer_latency, latency, compile_seconds))
    return peer_latency / latency / compile_seconds


def geometric_mean(values: Sequence[float]) -> float:
    """The mean of ratios.

    Raises:
        InputError: there are none, or one is not above zero.
    """
    _require_positive(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _require_positive(values: Sequence[float]) -> None:
    if not values or not all(value > 0 and math.isfinite(value) for value in values):
        given = ", ".join(map(str, values)) or "none"
        raise InputError(f"a figure of merit needs numbers above zero, not {given}")
