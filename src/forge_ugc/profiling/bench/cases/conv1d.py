"""Short convolutions along the positions, one filter a channel."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from forge_ugc.profiling.bench.case import Case, Fields, cases

CHANNELS, LENGTH, TAPS = 1536, 128, 4


@cases("conv1d")
def conv1d() -> Iterator[Case]:
    """Of a state-space block: four taps, causal."""
    written = LENGTH + TAPS - 1
    yield Case(
        shape=f"{CHANNELS}x{LENGTH} {TAPS} taps", flops=2 * CHANNELS * written * TAPS,
        bytes_moved=4 * CHANNELS * (LENGTH + written + TAPS), precision="f32",
        fields=lambda isa: _fields(written),
    )  # fmt: skip


def _fields(written: int) -> Fields:
    return {
        "x": torch.randn(CHANNELS, LENGTH), "x_strides": [CHANNELS * LENGTH, LENGTH, 1],
        "w": torch.randn(CHANNELS, TAPS), "w_strides": [TAPS, 1], "bias": torch.zeros(CHANNELS),
        "out": torch.empty(CHANNELS, written), "out_strides": [CHANNELS * written, written, 1],
        "batch": 1, "channels": CHANNELS, "length": LENGTH, "out_length": written, "taps": TAPS,
        "padding": TAPS - 1,
    }  # fmt: skip
