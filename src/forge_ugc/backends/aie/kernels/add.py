"""The kernel of a residual sum (`forge_aie/add.h`)."""

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

PROGRAM_BYTES = 1024
VECTOR_ISSUES = 14
"""A tile: 64 lanes unpacked twice (4), two products of 16 lanes an issue (8), moved out (2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """y = relu(clip(round((a * multiplier_a + b * multiplier_b) / 2**shift))): i8 matrices."""

    rows: int
    columns: int
    multiplier_a: int
    multiplier_b: int
    shift: int
    relu: bool = False
    input_link: Link = Link.STREAM
    output_link: Link = Link.STREAM

    def instance(self, label: Label, device: AieDevice) -> KernelInstance:
        """The kernel on one tile."""
        del device  # the same issues on every architecture
        columns = padded(self.columns)
        elements = self.rows * columns
        tiles = elements // TILE_BYTES
        streams = Link.STREAM in (self.input_link, self.output_link)
        loop = Loop(
            name="sums", trips=tiles, vector=VECTOR_ISSUES, loads=4, stores=2 if streams else 4,
            stream_in=words(self.input_link, TILE_WORDS),
            stream_out=words(self.output_link, TILE_WORDS),
        )  # fmt: skip
        inputs = tuple(
            port(name, self.input_link, self.rows, columns, 2 / tiles) for name in ("a", "b")
        )
        return KernelInstance(
            name=label.name, template="add", layer=label.layer, instructions=label.instructions,
            config={
                "elements": elements, "multiplier_a": self.multiplier_a,
                "multiplier_b": self.multiplier_b, "shift": self.shift, "relu": self.relu,
            },
            arrays={}, inputs=inputs,
            outputs=(port("y", self.output_link, self.rows, columns),),
            data_bytes=0, stack_bytes=FRAME_BYTES + 2 * block_bytes(self.input_link, TILE),
            work=Work(loops=(loop,), first_output_fraction=1 / tiles, program_bytes=PROGRAM_BYTES),
            comment=f"y = (a * {self.multiplier_a} + b * {self.multiplier_b}) / 2^{self.shift}"
            f"{', then ReLU' if self.relu else ''}: a, b, y i8[{self.rows}, {self.columns}]",
        )  # fmt: skip
