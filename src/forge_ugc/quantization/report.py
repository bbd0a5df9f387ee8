"""What quantisation did to a model: steps and noise of its layers, fidelity of its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from forge_ugc.npuir.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerNoise:
    """One layer on the calibration data.

    Attributes:
        step: the real number that one step of its results stands for.
        noise: root of the mean squared error of its results over that of the results themselves;
            errors of all layers before it are in it.
        saturated: share of its results that are -128 or 127.
    """

    name: str
    kind: str
    step: float
    noise: float
    saturated: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizationReport:
    """Post-training quantisation of one model; every figure is of the calibration data.

    Attributes:
        method: that chose the ranges; `softmax`: form of the exponential.
        jets: how many there were.
        kl_divergence: mean and largest of KL(float || integer) over rows of the first output, in
            nats, with a softmax over its columns; 0 for a single column.
        agreement: share of rows whose largest column is the same.
        relative_error: as `LayerNoise.noise`, of the first output.
        max_abs_error: of the first output, in real numbers.
    """

    method: str
    softmax: str
    jets: int
    layers: tuple[LayerNoise, ...]
    kl_mean: float
    kl_max: float
    agreement: float
    relative_error: float
    max_abs_error: float

    def __str__(self) -> str:
        return (
            f"int8 by {self.method} over {self.jets} jets: KL divergence {self.kl_mean:.2e} mean, "
            f"{self.kl_max:.2e} max; {self.agreement:.1%} of decisions as in floating point; "
            f"relative error {self.relative_error:.2%}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantized:
    """An integer program with its constants, and what was measured while it was made."""

    program: Program
    tensors: Mapping[str, torch.Tensor]
    report: QuantizationReport


def noise(exact: torch.Tensor, got: torch.Tensor) -> float:
    """Root of mean((got - exact)**2) / mean(exact**2); 0 where both are all 0."""
    power = float(exact.double().square().mean())
    wrong = float((got.double() - exact.double()).square().mean())
    return (wrong / power) ** 0.5 if power else float(wrong > 0)


def divergence(exact: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    """KL(softmax(exact) || softmax(got)) of each row, in nats: f64[rows] of two [rows, columns]."""
    p, q = exact.double().log_softmax(-1), got.double().log_softmax(-1)
    return (p.exp() * (p - q)).sum(-1).clamp(min=0)


def agreement(exact: torch.Tensor, got: torch.Tensor) -> float:
    """Share of rows whose largest column is the same; a tie counts if the exact one is in it."""
    chosen = exact.argmax(-1, keepdim=True)
    return float((got.gather(-1, chosen)[..., 0] == got.amax(-1)).double().mean())
