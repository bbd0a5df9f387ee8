"""Where an activation is in a design: on one stream, or its columns shared out among several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forge_ugc.backends.aie.design import End
from forge_ugc.backends.aie.kernels.layout import I8, padded

PADDING = -1


@dataclass(frozen=True, slots=True)
class Part:
    """Some columns of an activation on one stream; `PADDING` stands for columns of zeros."""

    source: End
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """An i8 matrix of `rows` rows and `columns` columns, without padding, on its parts."""

    rows: int
    columns: int
    parts: tuple[Part, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The matrix's columns as they lie on the parts, one part after the other."""
        return tuple(column for part in self.parts for column in part.columns)


def plain(columns: int, first: int = 0) -> tuple[int, ...]:
    """Columns `first` and on, in their order, padded to whole tiles."""
    return (*range(first, first + columns), *(PADDING,) * (padded(columns) - columns))


def spread_inputs(weight: I8, order: tuple[int, ...]) -> I8:
    """Weights i8[N, K] for inputs in another order: zeros where there is padding."""
    index = np.array(order)
    spread = weight[:, np.maximum(index, 0)]
    spread[:, index == PADDING] = 0
    return spread
