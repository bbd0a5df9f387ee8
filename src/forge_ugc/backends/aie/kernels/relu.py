"""The kernel of a ReLU that is no part of another layer (`forge_aie/relu.h`)."""

from __future__ import annotations

from dataclasses import dataclass

from forge_ugc.backends.aie.design import KernelInstance, Link, Loop, Work
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.instance import (
    FRAME_BYTES,
    TILE_WORDS,
    Label,
    block_bytes,
    port,
    words,
)
from forge_ugc.backends.aie.kernels.layout import TILE, TILE_BYTES, padded

PROGRAM_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Relu:
    """y = max(x, 0): i8[rows, columns]."""

    rows: int
    columns: int
    input_link: Link = Link.STREAM
    output_link: Link = Link.STREAM

    def instance(self, label: Label, device: AieDevice) -> KernelInstance:
        """The kernel on one tile."""
        del device  # the same issues on every architecture
        columns = padded(self.columns)
        tiles = self.rows * columns // TILE_BYTES
        loop = Loop(
            name="relu", trips=tiles, vector=4, loads=2, stores=2,
            stream_in=words(self.input_link, TILE_WORDS),
            stream_out=words(self.output_link, TILE_WORDS),
        )  # fmt: skip
        return KernelInstance(
            name=label.name, template="relu", layer=label.layer, instructions=label.instructions,
            config={"elements": self.rows * columns}, arrays={},
            inputs=(port("x", self.input_link, self.rows, columns, 2 / tiles),),
            outputs=(port("y", self.output_link, self.rows, columns),),
            data_bytes=0, stack_bytes=FRAME_BYTES + block_bytes(self.input_link, TILE),
            work=Work(loops=(loop,), first_output_fraction=1 / tiles, program_bytes=PROGRAM_BYTES),
            comment=f"y = max(x, 0): x, y i8[{self.rows}, {self.columns}]",
        )  # fmt: skip
