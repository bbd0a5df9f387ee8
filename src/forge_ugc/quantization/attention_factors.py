"""Factors of integer attention: those given, and those measured on samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from forge_ugc.errors import QuantizationError
from forge_ugc.ops.core.integer import integer_product
from forge_ugc.ops.core.integer_exp import WEIGHT_BITS, exponentials
from forge_ugc.quantization.dyadic import Dyadic, accumulator_factor, dyadic
from forge_ugc.quantization.integer_softmax import context_factor, distance_factor, weight_table

Samples = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionPlan:
    """What is known of an attention layer; each tuple has one entry a head.

    Attributes:
        softmax: "none", "table" or "polynomial".
        scale: what real scores are multiplied by, 1 / sqrt(size of a head) as a rule.
        score: factors from q @ k.T to 8-bit scores.
        score_steps: what one step of a score stands for in the exponential; by default what the
            steps of q and k and the factor make it.
        context: factors of the results: from s @ v without softmax, from the mean of v with it.
    """

    heads: int
    softmax: str = "none"
    scale: float = 1.0
    score: tuple[Dyadic, ...] | None = None
    score_steps: tuple[float, ...] | None = None
    context: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionFactors:
    """A plan with nothing open; `context` are (multiplier, shift), `step` is of the result."""

    score: tuple[Dyadic, ...]
    score_steps: tuple[float, ...]
    context: tuple[tuple[int, int], ...]
    step: float


def attention_factors(
    plan: AttentionPlan, samples: Samples | None, steps: tuple[float, float, float], where: str
) -> AttentionFactors:
    """The plan with what it leaves open measured on samples of q, k and v, i8[..., T, C] each.

    All heads share the step of the result unless the plan says otherwise; with several, `step` is
    that of the first.

    Args:
        samples: may be None if the plan has factors of scores and results.
        steps: of q, k and v.
        where: the layer, for messages.

    Raises:
        QuantizationError: a plan has another number of entries than heads, or a factor is out of
            range.
    """
    for name, given in (("score", plan.score), ("score_steps", plan.score_steps),
                        ("context", plan.context)):  # fmt: skip
        if given is not None and len(given) != plan.heads:
            raise QuantizationError(
                f"{name} has {len(given)} entries, expected one for each of {plan.heads} heads",
                where=where,
            )
    heads = [] if samples is None else [_head(samples, h, plan.heads) for h in range(plan.heads)]
    score = plan.score or tuple(
        accumulator_factor(int(_products(q, k).abs().max())) for q, k, _ in heads
    )
    product = steps[0] * steps[1] * plan.scale
    score_steps = plan.score_steps or tuple(product / f.value for f in score)
    results = [
        _result(head, plan, f, s) for head, f, s in zip(heads, score, score_steps, strict=True)
    ] if plan.context is None else []  # fmt: skip
    units = [steps[2] * (s if plan.softmax == "none" else 1.0) for s in score_steps]
    if plan.context is not None:
        scales, step = plan.context, units[0] / plan.context[0]
    else:
        largest = max(u * r for u, r in zip(units, results, strict=True))
        step = largest / 127 if largest else max(units)
        scales = tuple(u / step for u in units)
    return AttentionFactors(
        score=score, score_steps=score_steps, step=step,
        context=tuple(_factor(plan.softmax, scale) for scale in scales),
    )  # fmt: skip


def _factor(softmax: str, scale: float) -> tuple[int, int]:
    if softmax != "none":
        return context_factor(scale)
    found = dyadic(scale)
    return found.multiplier, found.shift


def _head(samples: Samples, head: int, heads: int) -> Samples:
    size = samples[0].shape[-1] // heads
    q, k, v = (x[..., head * size : (head + 1) * size] for x in samples)
    return q, k, v


def _products(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return integer_product(q, k.transpose(-1, -2))


def _result(head: Samples, plan: AttentionPlan, factor: Dyadic, score_step: float) -> float:
    """Largest magnitude of s @ v, or with softmax of the weighted mean of v, in steps."""
    q, k, v = head
    s = factor.apply(_products(q, k))
    if plan.softmax == "none":
        return float(integer_product(s, v).abs().max())
    d = s.amax(-1, keepdim=True) - s
    table = weight_table(score_step) if plan.softmax == "table" else None
    exponent = Dyadic(multiplier=1, shift=0) if table is not None else distance_factor(score_step)
    g = exponentials(d, plan.softmax, exponent.multiplier, exponent.shift, table, WEIGHT_BITS)
    mean = integer_product(g, v).double() / g.sum(-1, keepdim=True).double()
    return float(mean.abs().max())


def per_head(value: float | Sequence[float] | None, heads: int) -> tuple[float, ...] | None:
    """One number for all heads, or one for each."""
    if value is None:
        return None
    return (float(value),) * heads if isinstance(value, int | float) else tuple(map(float, value))
