"""How far a model's logits are from those of another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from forge_ugc.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """Differences of logits over a number of positions.

    Attributes:
        positions: rows of logits compared.
        max_abs_difference: largest |candidate - reference| of one logit; infinite where only one
            of the two is finite or a number.
        mean_kl, max_kl: Kullback-Leibler divergence of softmax(candidate) from
            softmax(reference), sum p * (log p - log q) with p the reference, in nats, over
            positions; infinite where the candidate rules out what the reference allows.
        same_choice: share of positions at which the most likely token is the same.
    """

    positions: int
    max_abs_difference: float
    mean_kl: float
    max_kl: float
    same_choice: float


def compare_logits(reference: torch.Tensor, candidate: torch.Tensor) -> Fidelity:
    """Compare logits of any float dtype, computed in float64.

    Args:
        reference, candidate: f[..., vocabulary] of one shape, at least one position.

    Raises:
        InputError: the shapes differ or are empty, or the reference holds NaN.
    """
    if reference.shape != candidate.shape or reference.ndim == 0 or reference.numel() == 0:
        raise InputError(
            "the logits cannot be compared",
            why=f"the reference is {list(reference.shape)}, the candidate {list(candidate.shape)}",
            fix="give both as [..., vocabulary], not empty",
        )
    want, got = (t.detach().double().reshape(-1, t.shape[-1]) for t in (reference, candidate))
    if want.isnan().any():
        raise InputError("the reference logits hold NaN", fix="compare with a model that works")
    difference = (got - want).abs().nan_to_num(nan=torch.inf, posinf=torch.inf)
    difference[got == want] = 0.0
    kl = _divergence(want, got)
    return Fidelity(
        positions=want.shape[0],
        max_abs_difference=float(difference.max()),
        mean_kl=float(kl.mean()),
        max_kl=float(kl.max()),
        same_choice=float((want.argmax(-1) == got.argmax(-1)).double().mean()),
    )


def _divergence(want: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    """KL divergence of each row; rounding below zero is cut off."""
    log_p, log_q = want.log_softmax(-1), got.log_softmax(-1)
    p = log_p.exp()
    terms = torch.where(p > 0, p * (log_p - log_q), 0.0)
    return terms.sum(-1).clamp(min=0.0).nan_to_num(nan=torch.inf, posinf=torch.inf)


def combine(parts: Iterable[Fidelity]) -> Fidelity:
    """The figures over all positions of several comparisons.

    Raises:
        InputError: there are none.
    """
    found = list(parts)
    if not found:
        raise InputError("there is no comparison to combine")
    positions = sum(part.positions for part in found)
    return Fidelity(
        positions=positions,
        max_abs_difference=max(part.max_abs_difference for part in found),
        mean_kl=sum(part.mean_kl * part.positions for part in found) / positions,
        max_kl=max(part.max_kl for part in found),
        same_choice=sum(part.same_choice * part.positions for part in found) / positions,
    )
