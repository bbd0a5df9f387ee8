"""The kernel that puts two matrices side by side (`forge_aie/concat.h`)."""

from __future__ import annotations

from dataclasses import dataclass

from forge_ugc.backends.aie.design import KernelInstance, Link, Loop, Work
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.instance import FRAME_BYTES, Label, port
from forge_ugc.backends.aie.kernels.layout import TILE

PROGRAM_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Concat:
    """y = [a | b]: i8[rows, columns_a] and i8[rows, columns_b], all multiples of 8, by streams."""

    rows: int
    columns_a: int
    columns_b: int

    def instance(self, label: Label, device: AieDevice) -> KernelInstance:
        """The kernel on one tile."""
        del device  # no arithmetic
        columns = self.columns_a + self.columns_b
        blocks = self.rows // TILE
        loop = Loop(
            name="copy", trips=self.rows * columns // 16, entries=2 * blocks, stream_in=4,
            stream_out=4,
        )  # fmt: skip
        # The first piece goes out once it is there; a block is needed of one before the other's.
        needed = TILE / self.rows
        return KernelInstance(
            name=label.name, template="concat", layer=label.layer,
            instructions=label.instructions,
            config={"rows": self.rows, "columns_a": self.columns_a, "columns_b": self.columns_b},
            arrays={},
            inputs=(
                port("a", Link.STREAM, self.rows, self.columns_a, needed),
                port("b", Link.STREAM, self.rows, self.columns_b, needed),
            ),
            outputs=(port("y", Link.STREAM, self.rows, columns),),
            data_bytes=0, stack_bytes=FRAME_BYTES,
            work=Work(loops=(loop,), first_output_fraction=16 / (self.rows * columns),
                      program_bytes=PROGRAM_BYTES),
            comment=f"y = [a | b]: a i8[{self.rows}, {self.columns_a}], "
            f"b i8[{self.rows}, {self.columns_b}]",
        )  # fmt: skip
