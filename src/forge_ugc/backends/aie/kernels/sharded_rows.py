"""The row kernel of the sharded mapping: all layers of a stage for one shard of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from forge_ugc.backends.aie.design import KernelInstance, Link, Loop, Port, Work
from forge_ugc.backends.aie.kernels.sharded import (
    ACCUMULATOR_BYTES,
    REQUANTISE,
    TILE_BYTES,
    TILE_ROWS,
    Part,
    add_part,
    array_bytes,
    dense_loop,
    joined,
    linear_part,
    named,
)
from forge_ugc.backends.aie.mapping.names import Names
from forge_ugc.backends.aie.mapping.stages import Add, Linear, Stage
from forge_ugc.npuir.instruction import Reg


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlace:
    """Which rows a row kernel works on, and what it is connected to.

    Attributes:
        rows: of the shard.
        before: rows of earlier shards, whose results it passes on.
        skipped: rows of other shards before and after its own on the model's input.
        to_attention: it sends its own rows to an attention.
    """

    rows: int
    before: int
    skipped: tuple[int, int] = (0, 0)
    to_attention: bool = False


def row_kernel(
    name: str, stage: Stage, previous: Stage | None, place: RowPlace, features: int
) -> KernelInstance:
    """The kernel of one shard of a stage.

    Args:
        previous: the stage before; None for the first, whose rows come from outside.
        features: of the rows that come in from a stream: the input's, or the residual's.
    """
    builder = _Builder(place)
    width = builder.read(stage, previous, features)
    for step in stage.steps:
        width = builder.step(step.work, step.sources, step.target)
    builder.write(stage.result, width)
    return builder.kernel(name, stage, previous)


class _Builder:
    def __init__(self, place: RowPlace) -> None:
        self._place = place
        self._groups = place.rows // TILE_ROWS
        self._inputs: list[Port] = []
        self._outputs: list[Port] = []
        self._parts: list[Part] = []
        self._loops: list[Loop] = []
        self._lines: list[str] = []
        self._names: dict[Reg, str] = {}
        self._widths: dict[Reg, int] = {}
        self._structs = Names()
        self._local_bytes = 0

    def read(self, stage: Stage, previous: Stage | None, features: int) -> int:
        """Rows come in; the features of the stage's source."""
        place = self._place
        if previous is None or previous.attention is None:
            skipped = sum(place.skipped)
            self._input("rows", (place.rows + skipped) * features)
            self._local(stage.source, "x", features)
            before, after = place.skipped
            self._skip(before, features)
            self._lines.append(f"read_tiles<{self._tiles(place.rows, features)}>(rows, x);")
            self._skip(after, features)
            self._loop("read", place.rows + skipped, features, stream_in=8, stores=1)
            width = features
        else:
            if stage.residual is not None:
                self._input("residual", place.rows * features)
                self._local(stage.residual, "x", features)
                tiles = self._tiles(place.rows, features)
                self._lines.append(f"read_tiles<{tiles}>(residual, x);")
                self._loop("read", place.rows, features, stream_in=8, stores=1)
            width = self._read_sums(stage.source, previous.attention.output)
        if place.before:
            last = stage.steps[-1].work if stage.steps else None
            self._input("before", place.before * _features(last, width))
        return width

    def _read_sums(self, target: Reg, output: Linear) -> int:
        width = int(output.weight.shape[0])
        self._inputs.append(Port(
            name="sums", link=Link.CASCADE, needed=1.0,
            bytes_per_jet=self._place.rows * width * ACCUMULATOR_BYTES,
        ))  # fmt: skip
        struct = self._struct(output.layer)
        self._parts.append(named(struct, {
            "outputs": width, "multiplier": output.multiplier, "shift": output.shift,
            "relu": output.relu,
        }, {}))  # fmt: skip
        array = self._local(target, "attended", width)
        self._lines.append(f"read_sums<Config::{struct}, {self._groups}>(sums, {array});")
        self._loop("sums", self._place.rows, width, vector=REQUANTISE, stores=1)
        return width

    def step(self, work: Linear | Add, sources: tuple[Reg, ...], target: Reg) -> int:
        """One layer; the features of its result."""
        struct = self._struct(work.layer)
        operands = ", ".join(self._names[source] for source in sources)
        width = _features(work, 0)
        array = self._local(target, struct[0].lower() + struct[1:] + "_out", width)
        if isinstance(work, Linear):
            self._parts.append(linear_part(struct, work, work.weight, work.bias))
            self._loops.append(dense_loop(struct, self._groups, *work.weight.shape))
            function = "dense"
        else:
            self._parts.append(add_part(struct, work))
            self._loop(struct, self._place.rows, width, vector=8, loads=2, stores=1)
            function = "add"
        self._lines.append(f"{function}<Config::{struct}, {self._groups}>({operands}, {array});")
        return width

    def write(self, result: Reg, width: int) -> None:
        """Rows go out: first to the next shard of the chain, then to the attention."""
        place, array = self._place, self._names[result]
        own = self._tiles(place.rows, width)
        total = (place.before + place.rows) * width
        self._outputs.append(Port(name="after", link=Link.STREAM, bytes_per_jet=total))
        if place.before:
            self._lines.append(f"pass_tiles<{self._tiles(place.before, width)}>(before, after);")
            self._loop("pass", place.before, width, stream_in=8, stream_out=8)
        self._lines.append(f"write_tiles<{own}>({array}, after);")
        self._loop("write", place.rows, width, stream_out=8, loads=1)
        if place.to_attention:
            others = tuple(i for i, port in enumerate(self._inputs) if port.name != "before")
            self._outputs.append(Port(
                name="own", link=Link.STREAM, bytes_per_jet=place.rows * width, follows=others,
            ))  # fmt: skip
            self._lines.append(f"write_tiles<{own}>({array}, own);")
            self._loop("own", place.rows, width, stream_out=8, loads=1)

    def kernel(self, name: str, stage: Stage, previous: Stage | None) -> KernelInstance:
        """Everything put together."""
        config, arrays = joined(self._parts)
        layers = [step.work.layer for step in stage.steps]
        indices = [step.work.index for step in stage.steps]
        if previous is not None and previous.attention is not None:
            layers.insert(0, previous.attention.output.layer)
            indices.insert(0, previous.attention.output.index)
        own = self._own_share()
        inputs = [
            replace(port, needed=0.0, read_at=own) if port.name == "before" else port
            for port in self._inputs
        ]
        return KernelInstance(
            name=name, template="sharded/rows", config=config, arrays=arrays,
            inputs=tuple(inputs), outputs=tuple(self._outputs), layer=", ".join(layers),
            instructions=tuple(indices), data_bytes=array_bytes(arrays),
            stack_bytes=self._local_bytes + 1024,
            work=Work(loops=tuple(self._loops), first_output_fraction=own,
                      program_bytes=1500 + 800 * len(self._loops)),
            comment=f"{self._place.rows} rows of {', '.join(layers)}.", body=tuple(self._lines),
            function=f"{name.rpartition('_')[0]}_r{self._place.rows}_after{self._place.before}",
        )  # fmt: skip

    def _own_share(self) -> float:
        """Share of the work that is done before rows go out."""
        sizes = [
            (loop.name, loop.trips * max(loop.vector, loop.stream_in, loop.stream_out))
            for loop in self._loops
        ]
        moving = sum(size for name, size in sizes if name in ("pass", "write", "own"))
        return 1 - moving / sum(size for _, size in sizes)

    def _input(self, name: str, size_bytes: int) -> None:
        self._inputs.append(Port(name=name, link=Link.STREAM, bytes_per_jet=size_bytes))

    def _skip(self, rows: int, features: int) -> None:
        if rows:
            self._lines.append(f"drop_tiles<{self._tiles(rows, features)}>(rows);")

    def _local(self, value: Reg, name: str, features: int) -> str:
        taken = set(self._names.values())
        unique, count = name, 1
        while unique in taken:
            count += 1
            unique = f"{name}_{count}"
        self._names[value] = unique
        size = self._place.rows * features
        self._lines.append(f"alignas(32) int8 {unique}[{size}];")
        self._local_bytes += size
        return unique

    def _struct(self, layer: str) -> str:
        return self._structs.unique(layer.rsplit(".", 1)[-1].capitalize())

    def _tiles(self, rows: int, features: int) -> int:
        return rows * features // TILE_BYTES

    def _loop(self, name: str, rows: int, features: int, **per_tile: float) -> None:
        trips = self._tiles(rows, features)
        self._loops.append(Loop(
            name=name, trips=trips, vector=per_tile.get("vector", 0.0),
            loads=per_tile.get("loads", 0.0), stores=per_tile.get("stores", 0.0),
            stream_in=per_tile.get("stream_in", 0.0), stream_out=per_tile.get("stream_out", 0.0),
        ))  # fmt: skip


def _features(work: Linear | Add | None, otherwise: int) -> int:
    if work is None:
        return otherwise
    return int(work.weight.shape[0]) if isinstance(work, Linear) else work.features
