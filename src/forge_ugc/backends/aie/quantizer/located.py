"""Where the elements of a register lie in the matrix of a node."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from forge_ugc.backends.aie.quantizer.graph import Node


@dataclass(frozen=True, slots=True)
class Located:
    """A register whose element i is element `index[i]` of the node's matrix, row-major.

    Views are followed by applying them to `index`: whatever way a model splits heads or moves axes,
    what it reads in the end can be compared with what an operator needs.
    """

    node: Node
    index: torch.Tensor

    def rows_and_columns(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        """(i64[...] rows, i64[K] columns) if element [..., k] is at (rows[...], columns[k])."""
        width = self.node.columns
        if self.index.dim() == 0:
            return None
        rows, columns = self.index // width, self.index % width
        first = columns.reshape(-1, columns.shape[-1])[0]
        same = (rows == rows[..., :1]).all() and (columns == first).all()
        return (rows[..., 0], first) if same else None

    def is_whole(self, jets: int) -> bool:
        """Every element of all jets once, in any order."""
        return torch.equal(self.index.flatten().sort().values, self._all(jets))

    def is_in_order(self, jets: int) -> bool:
        """Every element of all jets once, in the matrix's own order."""
        return torch.equal(self.index.flatten(), self._all(jets))

    def _all(self, jets: int) -> torch.Tensor:
        return torch.arange(jets * self.node.rows * self.node.columns)


def every_row_once(rows: torch.Tensor, jets: int, node: Node) -> bool:
    """Whether rows are a permutation of all rows of all jets."""
    return torch.equal(rows.flatten().sort().values, torch.arange(jets * node.rows))


def by_heads(value: Located, jets: int) -> torch.Tensor | None:
    """Columns i64[heads, size] of q, k or v, [jets, heads, rows, size]; None if it is no such."""
    index = value.index
    node = value.node
    if index.dim() != 4 or index.shape[0] != jets or index.shape[2] != node.rows:
        return None
    rows, columns = index // node.columns, index % node.columns
    wanted = torch.arange(jets * node.rows).view(jets, 1, node.rows, 1)
    first = columns[:1, :, :1]
    fits = bool((rows == wanted).all()) and bool((columns == first).all())
    return first[0, :, 0] if fits else None
