"""What operations cost on a tile: the one source of the figures of estimate and simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Cycles that an operation occupies one issue slot of a tile.

    Architecture figures are from AM009 and UG1079 (two 256-bit loads and one store a cycle, one
    vector instruction a cycle). Figures that no manual gives are marked: (c) calibrated by `fit`
    or taken from one published measurement, (e) estimated.

    Attributes:
        vector_issue: of one vector instruction.
        load: of 256 bits, with two ports; unaligned_load needs both.
        store: of 256 bits; move: of 256 bits between registers.
        element_get, element_set: an int8 element of a vector by a run-time index (c): together 41,
            from the published kernels' transpose.
        element_arithmetic: scalar code around an element that is read to be computed with (c): 14,
            from the published kernels' bias loop.
        scalar_divide, scalar_sqrt: software (e).
        reduce_step: of each halving in a reduction over lanes (e).
        srs, ups: shift-round-saturate, and its opposite, of 8 wide or 16 narrow lanes (e).
        loop_prologue: filling the pipeline of a loop, once an entry (c).
        pipeline_efficiency: share of a pipelined loop's issues that are not lost (c).
        chain_latency: from a multiplication to its result, where nothing hides it (c).
        call_cycles: one invocation of a kernel (Vitis tutorials: 44).
    """

    vector_issue: float = 1
    load: float = 0.5
    store: float = 1
    unaligned_load: float = 1
    move: float = 1
    element_get: float = 14
    element_set: float = 27
    element_arithmetic: float = 14
    scalar_divide: float = 80
    scalar_sqrt: float = 100
    reduce_step: float = 2
    srs: float = 1
    ups: float = 1
    loop_prologue: float = 8
    pipeline_efficiency: float = 1.0
    chain_latency: float = 12
    call_cycles: float = 44

    def figures(self) -> Mapping[str, float]:
        """Figures by name, as `simulate(costs=...)` takes them."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}

    def text(self) -> str:
        """The file that the simulator reads: a line `name = value` for each figure."""
        return "".join(f"{name} = {value!r}\n" for name, value in self.figures().items())
