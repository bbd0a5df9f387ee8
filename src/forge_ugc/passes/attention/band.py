"""What a constant mask shows, found from its values."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from forge_ugc.ops.attention import band

HIDES = -1e8
"""A finite number at or below this hides a key as -inf does, wherever its row has a visible key:
exp(-1e8 - score) is 0 in every type as long as scores stay within 5e7, where fp32 has lost the
fractional part."""


@dataclass(frozen=True, slots=True)
class Band:
    """Query i sees key j if -left <= j - i <= right; None does not bound that side."""

    left: int | None = None
    right: int | None = None

    def __str__(self) -> str:
        if self.right is None and self.left is None:
            return "none"
        if self.left is None:
            return "causal" if self.right == 0 else f"causal offset {self.right}"
        if self.right == 0:
            return f"window of {self.left + 1}"
        return f"window {-self.left}..{'' if self.right is None else self.right}"


def as_band(visible: torch.Tensor, length: int, keys: int) -> Band | None:
    """The band that shows exactly the pairs where `visible` is True, or None.

    visible: bool, broadcastable to [..., length, keys]. Linear in its size.
    """
    if bool(visible.all()):
        return Band()
    plane = _plane(visible)
    if plane is None:
        return None
    plane = plane.expand(length, keys)
    row, column = plane[0].nonzero(), plane[:, 0].nonzero()
    if not len(row) and not len(column):
        return None
    right = int(row[-1]) if len(row) else -int(column[0])
    left = int(column[-1]) if len(column) else -int(row[0])
    found = Band(None if left == length - 1 else left, None if right == keys - 1 else right)
    return found if torch.equal(plane, band(length, keys, found.left, found.right)) else None


def hides_exactly(values: torch.Tensor) -> torch.Tensor | None:
    """Which keys an additive mask shows, if hiding the others is all it does; bool, as `values`.

    That is so if every element is 0 or far below, and every row either shows a key or is -inf
    throughout: a row of the lowest finite number only would average over all keys.
    """
    shown = values == 0
    if not bool((shown | (values <= HIDES)).all()):
        return None
    sure = shown.any(-1) | (values == float("-inf")).all(-1)
    return shown if bool(sure.all()) else None


def _plane(mask: torch.Tensor) -> torch.Tensor | None:
    """The last two axes if all the leading ones repeat them."""
    while mask.dim() > 2:
        first = mask[:1]
        if mask.shape[0] > 1 and mask.stride(0) != 0 and not bool((mask == first).all()):
            return None
        mask = first[0]
    return mask[(None,) * (2 - mask.dim())]
