"""The kernel of an attention head's scores, or weights (`forge_aie/attention.h`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forge_ugc.backends.aie.design import Array, ConfigValue, KernelInstance, Link, Loop, Work
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.instance import (
    FRAME_BYTES,
    TILE_WORDS,
    Label,
    block_bytes,
    costs,
    first_rows,
    port,
    words,
)
from forge_ugc.backends.aie.kernels.layout import I8, TILE, padded
from forge_ugc.backends.aie.kernels.products import product_loops, results_loop

PROGRAM_BYTES = {"none": 3072, "table": 4608, "polynomial": 6144}
SCALAR_LOOK_UP = 6
"""Scalar issues of one element: load, subtract, compare or load from the table, store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """s = requantise(q @ k.T) for `rows` queries; with softmax the weights of each row of s.

    Attributes:
        rows: a multiple of 8; keys: how many there are, without padding; depth: width of the head.
        softmax: none, table or polynomial.
        exp_multiplier, exp_shift: for the polynomial; exp_table: i8[256] for the table.
    """

    rows: int
    keys: int
    depth: int
    multiplier: int
    shift: int
    softmax: str = "none"
    exp_multiplier: int = 1
    exp_shift: int = 0
    exp_table: I8 | None = None
    query_link: Link = Link.STREAM
    key_link: Link = Link.STREAM
    output_link: Link = Link.STREAM

    def instance(self, label: Label, device: AieDevice) -> KernelInstance:
        """The kernel on one tile."""
        keys, depth = padded(self.keys), padded(self.depth)
        arrays: dict[str, Array] = {} if self.exp_table is None else {"exp_table": self.exp_table}
        local = block_bytes(self.query_link, depth)
        local += keys * depth if self.key_link is Link.STREAM else 0
        local += 0 if self.softmax == "none" else TILE * keys
        needed = first_rows(self.rows, keys)
        return KernelInstance(
            name=label.name, template="scores", layer=label.layer, instructions=label.instructions,
            config=self._config(keys, depth), arrays=arrays,
            inputs=(port("q", self.query_link, self.rows, depth, needed),
                    port("k", self.key_link, keys, depth)),
            outputs=(port("s", self.output_link, self.rows, keys),),
            data_bytes=sum(array.nbytes for array in arrays.values()),
            stack_bytes=FRAME_BYTES + local, work=self._work(device, keys, depth),
            comment=self._comment(),
        )  # fmt: skip

    def _config(self, keys: int, depth: int) -> dict[str, ConfigValue]:
        config: dict[str, ConfigValue] = {
            "rows": self.rows,
            "keys": keys,
            "real_keys": self.keys,
            "depth": depth,
            "multiplier": self.multiplier,
            "shift": self.shift,
            "softmax": f"forge_aie::Softmax::{self.softmax}",
        }
        if self.softmax == "polynomial":
            config |= {"exp_multiplier": self.exp_multiplier, "exp_shift": self.exp_shift}
        return config

    def _work(self, device: AieDevice, keys: int, depth: int) -> Work:
        loops = [
            *read_loop(self.key_link, "read keys", keys, depth),
            *product_loops(device, rows=self.rows, depth=depth, columns=keys, link=self.query_link),
        ]
        plain = self.softmax == "none"
        loops.append(results_loop(
            device, rows=self.rows, columns=keys, link=self.output_link if plain else Link.BUFFER,
        ))  # fmt: skip
        loops += weight_loops(device, self.softmax, self.rows, keys, self.output_link)
        tiles = self.rows * keys // TILE**2
        first = 1 / tiles if plain else TILE / self.rows
        return Work(
            loops=tuple(loops), first_output_fraction=first,
            program_bytes=PROGRAM_BYTES[self.softmax],
        )  # fmt: skip

    def _comment(self) -> str:
        result = "s" if self.softmax == "none" else f"weights of softmax(s) by {self.softmax}"
        return (
            f"s = (q @ k.T) * {self.multiplier} / 2^{self.shift}, gives {result}: "
            f"q i8[{self.rows}, {self.depth}], k i8[{self.keys}, {self.depth}], "
            f"s i8[{self.rows}, {self.keys}]"
        )


def read_loop(link: Link, name: str, rows: int, columns: int) -> Iterator[Loop]:
    """A matrix read whole from a stream into local memory; a buffer is there already."""
    if link is Link.STREAM:
        pieces = rows * columns // 16
        yield Loop(name=name, trips=pieces, stores=0.5, stream_in=4)


def weight_loops(
    device: AieDevice, softmax: str, rows: int, keys: int, link: Link
) -> Iterator[Loop]:
    """Row maxima and weights of all rows; none without softmax."""
    blocks, tiles = rows // TILE, rows * keys // TILE**2
    stores = 0.0 if link is Link.STREAM else 2.0
    out = words(link, TILE_WORDS)
    if softmax == "polynomial":
        yield Loop(name="row maxima", trips=tiles, entries=blocks, vector=2, loads=2)
        # Each row's maximum by a reduction of eight lanes: four steps of shuffle and compare.
        yield Loop(name="maxima of lanes", trips=rows, vector=12, pipelined=False)
        yield Loop(
            name="weights", trips=tiles, entries=blocks, vector=2 * costs(device).exponential,
            loads=2, stores=stores, stream_out=out,
        )  # fmt: skip
    elif softmax == "table":
        yield Loop(
            name="table look-up", trips=rows * keys, entries=blocks * TILE, scalar=SCALAR_LOOK_UP
        )
        yield Loop(
            name="weights", trips=tiles, entries=blocks, loads=2, stores=stores, stream_out=out
        )
