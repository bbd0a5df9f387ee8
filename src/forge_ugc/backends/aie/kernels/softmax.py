"""The kernel of a softmax over columns (`forge_aie/softmax.h`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forge_ugc.backends.aie.design import Array, ConfigValue, KernelInstance, Link, Loop, Work
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.context import DIVISION_STEP
from forge_ugc.backends.aie.kernels.instance import (
    FRAME_BYTES,
    TILE_WORDS,
    Label,
    block_bytes,
    first_rows,
    port,
    words,
)
from forge_ugc.backends.aie.kernels.layout import TILE, padded
from forge_ugc.backends.aie.kernels.scores import weight_loops

PROGRAM_BYTES = 8192
RECIPROCAL_BITS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Softmax:
    """y = softmax(x) by rows, x i8[rows, columns]; y of 7 bits, or of 8 in unsigned bytes.

    Attributes:
        rows: a multiple of 8; columns: how many there are, without padding.
        method: table or polynomial; exp_table: i16[256] for the table.
    """

    rows: int
    columns: int
    method: str
    exp_multiplier: int = 1
    exp_shift: int = 0
    exp_table: npt.NDArray[np.int16] | None = None
    bits: int = 7
    input_link: Link = Link.STREAM
    output_link: Link = Link.STREAM

    def instance(self, label: Label, device: AieDevice) -> KernelInstance:
        """The kernel on one tile."""
        columns = padded(self.columns)
        arrays: dict[str, Array] = {} if self.exp_table is None else {"exp_table": self.exp_table}
        config: dict[str, ConfigValue] = {
            "rows": self.rows, "columns": columns, "real_columns": self.columns,
            "softmax": f"forge_aie::Softmax::{self.method}", "bits": self.bits,
        }  # fmt: skip
        if self.method == "polynomial":
            config |= {"exp_multiplier": self.exp_multiplier, "exp_shift": self.exp_shift}
        local = block_bytes(self.input_link, columns) + 2 * TILE * columns
        local += TILE * columns if columns != self.columns else 0
        needed = first_rows(self.rows, TILE)
        return KernelInstance(
            name=label.name, template="softmax", layer=label.layer,
            instructions=label.instructions, config=config, arrays=arrays,
            inputs=(port("x", self.input_link, self.rows, columns, needed),),
            outputs=(port("y", self.output_link, self.rows, columns),),
            data_bytes=sum(array.nbytes for array in arrays.values()),
            stack_bytes=FRAME_BYTES + local, work=self._work(device, columns),
            comment=f"y = softmax(x) by {self.method}, {self.bits} bits: "
            f"x, y i8[{self.rows}, {self.columns}]",
        )  # fmt: skip

    def _work(self, device: AieDevice, columns: int) -> Work:
        blocks, tiles = self.rows // TILE, self.rows * columns // TILE**2
        loops = [
            *weight_loops(device, self.method, self.rows, columns, Link.BUFFER),
            Loop(name="row sums", trips=tiles, entries=2 * blocks, vector=4, loads=4),
            # Sums are there for 32 lanes, in two registers, of each half of a block.
            Loop(
                name="reciprocals", trips=blocks * RECIPROCAL_BITS * 2, entries=2 * blocks,
                vector=2 * DIVISION_STEP, pipelined=False,
            ),
            Loop(
                name="probabilities", trips=tiles, entries=blocks, vector=8, loads=4,
                stores=words(self.input_link, 2),
                stream_in=words(self.input_link, TILE_WORDS),
                stream_out=words(self.output_link, TILE_WORDS),
            ),
        ]  # fmt: skip
        return Work(
            loops=tuple(loops), first_output_fraction=TILE / self.rows,
            program_bytes=PROGRAM_BYTES,
        )  # fmt: skip
