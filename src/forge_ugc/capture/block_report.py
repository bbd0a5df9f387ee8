"""What became of repeated blocks in a capture, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StampedBlocks:
    """One block that was traced, and the blocks that are copies of its trace, by module path."""

    traced: str
    copies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedBlock:
    """A block of a module list that was traced by itself although it has neighbours, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedBlocksReport:
    """What became of the blocks of module lists.

    Attributes:
        stamped: blocks traced once for several.
        traced: blocks that had to be traced, with reasons.
        whole_model: why the whole model was traced after all; None if it was not.
    """

    stamped: tuple[StampedBlocks, ...] = ()
    traced: tuple[TracedBlock, ...] = ()
    whole_model: str | None = None

    @property
    def copies(self) -> int:
        """Blocks that were not traced."""
        return sum(len(group.copies) for group in self.stamped)

    def lines(self) -> Sequence[str]:
        """One line a group or refusal."""
        rows = [
            f"repeated-blocks: {g.traced} traced once, stamped on {span(g.copies)}"
            for g in self.stamped
        ]
        by_reason: dict[str, list[str]] = {}
        for block in self.traced:
            by_reason.setdefault(block.reason, []).append(block.path)
        rows += [f"not repeated-blocks: {r}  [{span(paths)}]" for r, paths in by_reason.items()]
        if self.whole_model is not None:
            rows.append(f"not repeated-blocks: the whole model was traced: {self.whole_model}")
        return rows


def span(paths: Sequence[str]) -> str:
    """`model.layers.1 ... model.layers.31 (31 blocks)`, or all names if they are few."""
    if len(paths) <= 3:
        return ", ".join(paths)
    return f"{paths[0]} ... {paths[-1]} ({len(paths)} blocks)"
