"""Fit of the cycle model's free figures on half of the published rows; errors on the other half."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from forge_ugc.backends.aie.cycles.costs import Costs
from forge_ugc.backends.aie.cycles.estimate import estimate, work_cycles
from forge_ugc.backends.aie.cycles.published import jet_tagger
from forge_ugc.backends.aie.cycles.rows import Row, fitted, held_out
from forge_ugc.backends.aie.network import time_network
from forge_ugc.errors import InternalError

# The vector pipeline has seven or eight stages: a prologue is no shorter, and a result that waits
# for it and for its conversion takes no longer than one and a half times that.
PROLOGUES = (8.0, 12.0, 16.0, 20.0, 24.0, 28.0)
EFFICIENCIES = tuple(round(0.60 + 0.05 * i, 2) for i in range(9))
LATENCIES = (4.0, 6.0, 8.0, 10.0, 12.0)

PUBLISHED_LATENCY = {4: 224_417.0, 1: 881_471.0}
"""By heads: 187,014.2 and 734,559.2 ns, which the authors print at 1.2 GHz."""
PUBLISHED_INTERVAL = {4: 1.25e9 / 10_041.8, 1: 1.25e9 / 2_775.3}
"""By heads: 10,041.8 and 2,775.3 jets a second at 1.25 GHz."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One figure of the model beside the published one, both in cycles."""

    name: str
    source: str
    published: float
    estimated: float
    cause: str = ""

    @property
    def error(self) -> float:
        """Share by which the estimate is too high; negative if it is too low."""
        return self.estimated / self.published - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the model makes of the published figures.

    fitted: rows that its figures come from; held_out: the others of known form; networks: latency
    and interval of the published jet tagger. The cost of moving one byte through scalar registers
    was inferred from these four; the rest of them was fitted on nothing.
    """

    costs: Costs
    fitted: tuple[Compared, ...]
    held_out: tuple[Compared, ...]
    networks: tuple[Compared, ...]

    @property
    def held_out_error(self) -> float:
        """Mean size of the error on rows that were not fitted."""
        return sum(abs(row.error) for row in self.held_out) / len(self.held_out)


def row_cycles(row: Row, costs: Costs) -> float:
    """The model's figure for a row of known form."""
    if row.work is None:
        raise InternalError(
            f"the form of {row.name!r} is not known", where="cycle model", fix="report this"
        )
    total = work_cycles(row.work, costs).total
    # A share of an invocation is that of its steady state: the call is not part of it.
    return (total - costs.call_cycles) / row.per if row.per > 1 else total


def fit(rows: Iterable[Row], start: Costs | None = None) -> Costs:
    """The figures on a grid with the least sum of squared logarithms of estimate over measurement.

    Three figures are free: what a loop's prologue costs, what share of a pipelined loop is not
    lost, and how long a result takes where nothing hides it. Of equal fits the first on the grid.
    """
    start, rows = start or Costs(), tuple(rows)

    def badness(costs: Costs) -> float:
        return sum(math.log(row_cycles(row, costs) / row.cycles) ** 2 for row in rows)

    grid = itertools.product(PROLOGUES, EFFICIENCIES, LATENCIES)
    return min(
        (replace(start, loop_prologue=p, pipeline_efficiency=e, chain_latency=c)
         for p, e, c in grid),
        key=badness,
    )  # fmt: skip


def compare_network(heads: int, costs: Costs) -> tuple[Compared, Compared]:
    """Latency and interval of the published jet tagger, and what causes them."""
    design = jet_tagger(heads)
    timing = time_network(design, lambda kernel: estimate(kernel, costs))
    slowest = next(k for k in design.kernels if k.name == timing.bottleneck)
    cycles = work_cycles(slowest.work, costs)
    heaviest = cycles.heaviest
    cause = ""
    if heaviest is not None:
        share = heaviest.total / cycles.total
        cause = f"{slowest.name}: {heaviest.name}, {heaviest.bound} code, {share:.0%} of the kernel"
    source = "arXiv 2606.17500, cycle-accurate emulation"
    heads_text = f"{heads} head{'s' if heads > 1 else ''}"
    return (
        Compared(name=f"jet tagger, {heads_text}: latency", source=source,
                 published=PUBLISHED_LATENCY[heads], estimated=timing.latency, cause=cause),
        Compared(name=f"jet tagger, {heads_text}: interval", source=source,
                 published=PUBLISHED_INTERVAL[heads], estimated=timing.interval, cause=cause),
    )  # fmt: skip


def calibrate() -> Calibration:
    """Fit on one half of the rows, and compare everything; takes some tenths of a second."""
    costs = fit(fitted())

    def compared(rows: Iterable[Row]) -> tuple[Compared, ...]:
        return tuple(
            Compared(name=row.name, source=row.source, published=row.cycles,
                     estimated=row_cycles(row, costs))
            for row in rows
        )  # fmt: skip

    networks = (*compare_network(4, costs), *compare_network(1, costs))
    return Calibration(
        costs=costs, fitted=compared(fitted()), held_out=compared(held_out()), networks=networks
    )
