"""Bit for bit comparison of simulated results with golden ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from forge_ugc.errors import ResourceError, SimulationError, UnsupportedOperatorError
from forge_ugc.npuir.instruction import Reg
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.slicing import upto

Bytes = npt.NDArray[np.int8]
Simulate = Callable[[Program, Mapping[str, torch.Tensor], Bytes], Bytes]
"""(program, constants, jets) -> the output of every jet."""
TILE = (4, 8)
"""Rows and columns of the tiles in which matrices travel between kernels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How much a set of results says: shares of values, 0 to 1, that are neither 0 nor saturated.

    Attributes:
        zero, saturated: shares of values that are 0, and that are -128 or 127.
    """

    values: int
    zero: float
    saturated: float

    @property
    def telling(self) -> float:
        """Share of values that are neither."""
        return 1 - self.zero - self.saturated

    def __str__(self) -> str:
        return (
            f"{self.telling:.1%} of {self.values} values are neither 0 ({self.zero:.1%}) "
            f"nor saturated ({self.saturated:.1%})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first value that differs: in which layer, jet, row and column, tile and lane of it.

    Attributes:
        tile: (row, column) of the 4 x 8 tile; `lane` counts its values row by row.
    """

    layer: str
    jet: int
    row: int
    column: int
    expected: int
    got: int

    @property
    def tile(self) -> tuple[int, int]:
        """(row, column) of the tile in the matrix of tiles."""
        return self.row // TILE[0], self.column // TILE[1]

    @property
    def lane(self) -> int:
        """Which value of its tile it is."""
        return self.row % TILE[0] * TILE[1] + self.column % TILE[1]

    def __str__(self) -> str:
        return (
            f"layer {self.layer}, jet {self.jet}, tile {self.tile[0]}, {self.tile[1]}, lane "
            f"{self.lane} (row {self.row}, column {self.column}): expected {self.expected}, got "
            f"{self.got}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a comparison found.

    Attributes:
        differing: how many of the model's results differ.
        first: the first difference in the first layer that differs; None if nothing does.
        spread: of the golden results.
    """

    values: int
    differing: int
    spread: Spread
    first: Difference | None = None

    @property
    def matches(self) -> bool:
        """True if every bit is the same."""
        return self.differing == 0

    def __str__(self) -> str:
        head = f"{self.values - self.differing} of {self.values} values equal; {self.spread}"
        return head if self.first is None else f"{head}\n  first difference: {self.first}"


def spread_of(values: Bytes) -> Spread:
    """Shares of zeros and of saturated values."""
    saturated = (values == -128) | (values == 127)
    return Spread(
        values=values.size, zero=float((values == 0).mean()), saturated=float(saturated.mean())
    )


def refuse_vacuous(golden: Bytes, model: str) -> Spread:
    """The spread of golden results that a comparison is worth something with.

    Raises:
        SimulationError: all of them are 0, or saturated, or one and the same number: a kernel that
            computes nothing would pass.
    """
    spread = spread_of(golden)
    if spread.telling == 0 or (golden.size > 1 and (golden == golden.flat[0]).all()):
        raise SimulationError(
            f"a comparison of model {model} would say nothing",
            why=f"of its {golden.size} golden values {spread.zero:.0%} are 0 and "
            f"{spread.saturated:.0%} are saturated"
            + ("" if spread.telling == 0 else f"; all are {int(golden.flat[0])}"),
            fix="give other inputs or scales, or calibrate the model on these inputs",
        )
    return spread


def compare(golden: Bytes, got: Bytes, *, layer: str, model: str) -> Comparison:
    """Compare results, i8[jets, rows, columns] each.

    Args:
        layer: whose results they are; `model`: for messages.

    Raises:
        SimulationError: the comparison would say nothing, or the simulator gave another number of
            results.
    """
    spread = refuse_vacuous(golden, model)
    if got.shape != golden.shape:
        raise SimulationError(
            f"the simulated results of {model} are {list(got.shape)}, expected "
            f"{list(golden.shape)}",
        )
    wrong = np.argwhere(golden != got)
    first = None
    if len(wrong):
        jet, row, column = (int(i) for i in min(wrong.tolist(), key=_in_tile_order))
        first = Difference(
            layer=layer, jet=jet, row=row, column=column, expected=int(golden[jet, row, column]),
            got=int(got[jet, row, column]),
        )  # fmt: skip
    return Comparison(values=golden.size, differing=len(wrong), spread=spread, first=first)


def locate(
    program: Program,
    tensors: Mapping[str, torch.Tensor],
    layers: Mapping[str, Reg],
    jets: Bytes,
    simulate: Simulate,
    golden: Simulate,
) -> Difference | None:
    """The first difference in the first layer whose results differ.

    Simulates the model up to each layer in turn; None if no layer alone differs.

    Args:
        layers: the register of each layer's results, in the order of the model.
        simulate: runs a program as the device does; `golden`: as it should.
    """
    for layer, reg in layers.items():
        part, used = upto(program, tensors, reg)
        try:
            got = simulate(part, used, jets)
        except (UnsupportedOperatorError, ResourceError):  # the layer alone cannot be an output
            continue
        want = golden(part, used, jets)
        wrong = np.argwhere(want != got)
        if len(wrong):
            jet, row, column = (int(i) for i in min(wrong.tolist(), key=_in_tile_order))
            return Difference(
                layer=layer, jet=jet, row=row, column=column,
                expected=int(want[jet, row, column]), got=int(got[jet, row, column]),
            )  # fmt: skip
    return None


def located(comparison: Comparison, difference: Difference | None) -> Comparison:
    """The comparison with a difference further ahead in the model, where one was found."""
    return comparison if difference is None else replace(comparison, first=difference)


def _in_tile_order(index: list[int]) -> tuple[int, ...]:
    """The order in which values leave a kernel: tiles by rows, each by rows."""
    jet, row, column = index
    return jet, row // TILE[0], column // TILE[1], row % TILE[0], column % TILE[1]
