"""Ranges of real values, from calibration data."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from forge_ugc.errors import OptionError, QuantizationError

METHODS = ("max-abs", "percentile", "mse")
LARGEST = 127
_KEPT = 1 << 20
_CANDIDATES = 80


def amplitude(values: torch.Tensor, method: str = "max-abs", percentile: float = 99.99) -> float:
    """The largest magnitude that 8 bits should reach, so that 127 stands for it.

    "max-abs" takes the largest there is; "percentile" leaves out the values above one; "mse" tries
    80 shares of the largest, and takes the one whose rounded and clipped values differ least in the
    mean square (Nagel et al. 2021, "A White Paper on Neural Network Quantization", section 3.1).
    Linear in the number of values.

    Raises:
        OptionError: no such method, or the percentile is not in (0, 100].
        QuantizationError: a value is not finite.
    """
    if method not in METHODS:
        raise OptionError(
            f"no calibration method is called {method!r}", fix=f"choose from {', '.join(METHODS)}"
        )
    if not 0 < percentile <= 100:
        raise OptionError(f"percentile is {percentile}, expected above 0 and at most 100")
    magnitudes = values.detach().double().abs().flatten()
    largest = float(magnitudes.max()) if magnitudes.numel() else 0.0
    if not magnitudes.isfinite().all():
        raise QuantizationError(
            "a value of the calibration data is not finite",
            fix="look for NaN or infinity in the batches, and in what the model makes of them",
        )
    if method == "max-abs" or largest == 0:
        return largest
    if method == "percentile":
        rank = max(1, round(percentile / 100 * magnitudes.numel()))
        found = float(magnitudes.kthvalue(rank).values)
        return found or largest
    shares = [(i + 1) / _CANDIDATES for i in range(_CANDIDATES // 4, _CANDIDATES)]
    errors = [_squared_error(magnitudes, largest * share) for share in shares]
    return largest * shares[min(range(len(shares)), key=errors.__getitem__)]


def _squared_error(magnitudes: torch.Tensor, reach: float) -> float:
    step = reach / LARGEST
    rounded = (magnitudes / step).round().clamp(max=LARGEST) * step
    return float((rounded - magnitudes).square().mean())


@dataclass(slots=True)
class Observer:
    """Keeps what a value holds over all batches: up to a million numbers, and the largest.

    Where there are more, every second one is dropped, again and again; the largest stays.
    """

    method: str = "max-abs"
    percentile: float = 99.99
    stride: int = 1
    count: int = 0
    largest: torch.Tensor = field(default_factory=lambda: torch.zeros(1))
    kept: list[torch.Tensor] = field(default_factory=list)

    def observe(self, values: torch.Tensor) -> None:
        """Take in the values of one batch."""
        magnitudes = values.detach().float().abs().flatten()
        if magnitudes.numel():
            self.largest = torch.maximum(self.largest, magnitudes.max()[None])
        part = magnitudes if self.method == "max-abs" else magnitudes[:: self.stride]
        self.count += len(part)
        self.kept = [] if self.method == "max-abs" else [*self.kept, part]
        while self.count > _KEPT and self.method != "max-abs":
            self.kept = [torch.cat(self.kept)[::2]]
            self.stride, self.count = 2 * self.stride, len(self.kept[0])

    def amplitude(self) -> float:
        """See the function of that name."""
        values = torch.cat(self.kept) if self.kept else self.largest
        if values.numel() == 0 or float(values.max()) < float(self.largest):  # it was dropped
            values = torch.cat([values, self.largest])
        return amplitude(values, self.method, self.percentile)


def quantized_weight(weight: torch.Tensor, method: str = "max-abs") -> tuple[torch.Tensor, float]:
    """(i8 like the weight, step): symmetric, one step for the whole tensor, -127 to 127.

    Raises:
        QuantizationError: a weight is not finite.
    """
    reach = amplitude(weight, "mse" if method == "mse" else "max-abs")
    step = reach / LARGEST if reach else 1.0
    rounded = (weight.detach().double() / step).round().clamp(-LARGEST, LARGEST)
    return rounded.to(torch.int8), step


def quantized_bias(bias: torch.Tensor, step: float) -> torch.Tensor:
    """i32 like the bias, in steps of the sums that it is added to.

    Raises:
        QuantizationError: a value does not fit 32 bits.
    """
    rounded = (bias.detach().double() / step).round()
    info = torch.iinfo(torch.int32)
    if rounded.numel() and not (rounded.abs() <= info.max).all():
        raise QuantizationError(
            "scale overflow: a bias does not fit 32 bits",
            why=f"it reaches {float(rounded.abs().max()):.3g} steps of {step:.3g}",
            fix="the layer's inputs or weights are tiny beside its bias: scale them up",
        )
    return rounded.to(torch.int32)
