"""The kernel of a mean or maximum over rows (`forge_aie/pool.h`)."""

from __future__ import annotations

from dataclasses import dataclass

from forge_ugc.backends.aie.design import KernelInstance, Link, Loop, Work
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.instance import (
    FRAME_BYTES,
    TILE_WORDS,
    Label,
    block_bytes,
    costs,
    port,
    words,
)
from forge_ugc.backends.aie.kernels.layout import TILE, padded
from forge_ugc.backends.aie.kernels.products import results_loop

PROGRAM_BYTES = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """y = requantise(sum or maximum over `real_rows` rows of x): one row, written eight times.

    x: i8[rows, columns], rows the next multiple of 8.
    """

    real_rows: int
    columns: int
    kind: str
    multiplier: int
    shift: int
    relu: bool = False
    input_link: Link = Link.STREAM
    output_link: Link = Link.STREAM

    def instance(self, label: Label, device: AieDevice) -> KernelInstance:
        """The kernel on one tile."""
        rows, columns = padded(self.real_rows), padded(self.columns)
        maximum = self.kind == "max"
        tiles = rows * columns // TILE**2
        accumulate = Loop(
            name="accumulate", trips=tiles, entries=rows // TILE,
            vector=4 if maximum else costs(device).product / 2 + 4,
            loads=4 if maximum else 7, stores=2 if maximum else 4,
            stream_in=words(self.input_link, TILE_WORDS),
        )  # fmt: skip
        results = results_loop(device, rows=TILE, columns=columns, link=self.output_link, extra=8)
        return KernelInstance(
            name=label.name, template="pool", layer=label.layer, instructions=label.instructions,
            config={
                "rows": rows, "real_rows": self.real_rows, "columns": columns, "maximum": maximum,
                "multiplier": self.multiplier, "shift": self.shift, "relu": self.relu,
            },
            arrays={}, inputs=(port("x", self.input_link, rows, columns),),
            outputs=(port("y", self.output_link, TILE, columns),), data_bytes=0,
            stack_bytes=FRAME_BYTES + block_bytes(self.input_link, columns)
            + columns * (TILE if maximum else 16),
            work=Work(loops=(accumulate, results), program_bytes=PROGRAM_BYTES),
            comment=f"y = {self.kind}(x over rows) as a {'maximum' if maximum else 'sum'} "
            f"* {self.multiplier} / 2^{self.shift}: x i8[{self.real_rows}, {self.columns}], "
            f"y i8[1, {self.columns}]",
        )  # fmt: skip
