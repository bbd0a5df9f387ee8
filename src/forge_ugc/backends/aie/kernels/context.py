"""The kernel of an attention head's context (`forge_aie/attention.h`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forge_ugc.backends.aie.design import ConfigValue, KernelInstance, Link, Loop, Work
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.instance import (
    FRAME_BYTES,
    Label,
    block_bytes,
    costs,
    first_rows,
    port,
)
from forge_ugc.backends.aie.kernels.layout import TILE, padded
from forge_ugc.backends.aie.kernels.products import product_loops, results_loop
from forge_ugc.backends.aie.kernels.scores import read_loop

PROGRAM_BYTES = 4608
QUOTIENT_BITS = 25
DIVISION_STEP = 7
"""Vector issues of one bit of all quotients of a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """y = requantise(s @ v) for `rows` rows; with softmax each row is divided by its weights' sum.

    Attributes:
        rows: a multiple of 8; keys: how many there are, without padding; depth: width of the head.
        multiplier: below 2**15, or 2**31 with softmax.
        softmax: none, table or polynomial: whether s are weights.
    """

    rows: int
    keys: int
    depth: int
    multiplier: int
    shift: int
    softmax: str = "none"
    score_link: Link = Link.STREAM
    value_link: Link = Link.STREAM
    output_link: Link = Link.STREAM

    def instance(self, label: Label, device: AieDevice) -> KernelInstance:
        """The kernel on one tile."""
        keys, depth = padded(self.keys), padded(self.depth)
        local = block_bytes(self.score_link, keys)
        local += keys * depth if self.value_link is Link.STREAM else 0
        config: dict[str, ConfigValue] = {
            "rows": self.rows, "keys": keys, "depth": depth, "multiplier": self.multiplier,
            "shift": self.shift, "softmax": f"forge_aie::Softmax::{self.softmax}",
        }  # fmt: skip
        return KernelInstance(
            name=label.name, template="context", layer=label.layer,
            instructions=label.instructions, config=config, arrays={},
            inputs=(
                port("s", self.score_link, self.rows, keys, first_rows(self.rows, depth)),
                port("v", self.value_link, keys, depth),
            ),
            outputs=(port("y", self.output_link, self.rows, depth),),
            data_bytes=0, stack_bytes=FRAME_BYTES + local, work=self._work(device, keys, depth),
            comment=self._comment(),
        )  # fmt: skip

    def _work(self, device: AieDevice, keys: int, depth: int) -> Work:
        loops = [
            *read_loop(self.value_link, "read values", keys, depth),
            *product_loops(device, rows=self.rows, depth=keys, columns=depth, link=self.score_link),
        ]
        wide = 0.0
        if self.softmax != "none":
            loops += reciprocal_loops(device, self.rows, keys)
            wide = 4.0  # 32 x 32 bit products: eight lanes an issue
        loops.append(results_loop(
            device, rows=self.rows, columns=depth, link=self.output_link, extra=wide
        ))  # fmt: skip
        return Work(
            loops=tuple(loops), first_output_fraction=64 / (self.rows * depth),
            program_bytes=PROGRAM_BYTES,
        )  # fmt: skip

    def _comment(self) -> str:
        divided = "" if self.softmax == "none" else " / sum(s)"
        return (
            f"y = (s @ v) * {self.multiplier} / 2^{self.shift}{divided}: "
            f"s i8[{self.rows}, {self.keys}], v i8[{self.keys}, {self.depth}], "
            f"y i8[{self.rows}, {self.depth}]"
        )


def reciprocal_loops(device: AieDevice, rows: int, keys: int) -> Iterator[Loop]:
    """Sums of each row's weights by a product with ones, and their reciprocals."""
    blocks = rows // TILE
    yield Loop(
        name="row sums", trips=blocks * keys // TILE, entries=blocks,
        vector=costs(device).product / 2, loads=2,
    )  # fmt: skip
    yield Loop(
        name="reciprocals", trips=blocks * QUOTIENT_BITS, entries=blocks, vector=DIVISION_STEP,
        pipelined=False,
    )  # fmt: skip
