"""The sharded mapping: heads x shards of rows, fused stages, cascades instead of streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from forge_ugc.backends.aie.checks import check_design
from forge_ugc.backends.aie.design import Design, End, KernelInstance, Link, Net, Plio
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.sharded import (
    TILE_FEATURES,
    TILE_ROWS,
    attention_kernel,
    keys_values_kernel,
)
from forge_ugc.backends.aie.kernels.sharded_rows import RowPlace, row_kernel
from forge_ugc.backends.aie.mapping.stages import Attention, Linear, Stage, StageReader
from forge_ugc.errors import OptionError, ResourceError, UnsupportedOperatorError
from forge_ugc.npuir.program import Program

PLIO_BITS = 128
MOST_SHARD_ROWS = 64
CHAINS = 2
"""A tile's DMA fills two buffers from streams: keys and values come from as many chains."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Rows `first` to `first + rows` of the model; `part` is the chain they belong to."""

    index: int
    part: int
    first: int
    rows: int
    before: int


def map_sharded(
    program: Program,
    tensors: Mapping[str, torch.Tensor],
    device: AieDevice,
    *,
    shards: int,
) -> Design:
    """Kernels for `shards` shards of rows.

    Every stage (layers that work on rows alone) is one kernel a shard; every attention one kernel a
    head and shard. The heads of a shard are joined by the cascade that sums up their parts of the
    output projection and ends in the next stage's kernel. Shards form two chains, which gather all
    rows for the kernels of keys and values: one a head and chain.

    Args:
        program: int8 operators, scheduled or not, on one matrix of rows and features.
        tensors: its constants.
        shards: a multiple of the chains; as even as groups of 4 rows allow.

    Raises:
        UnsupportedOperatorError: the program is no chain of stages and attentions, or a size does
            not fit the tiles of 4 rows x 8 features; names the layer.
        OptionError: there are fewer groups of rows than shards.
    """
    if device.architecture != "aie1":
        raise UnsupportedOperatorError(
            f"the sharded mapping needs tiles with two streams in, {device.name} has "
            f"{device.stream_inputs}",
            where=program.name,
            fix="mapping='published', or device='vck190'",
        )
    reader = StageReader(program, tensors)
    _check_sizes(reader, program.name)
    plan = _Plan(program.name, device, reader, _cut(program.name, reader.rows, shards))
    return plan.design(shards)


def fewest_shards(
    program: Program, tensors: Mapping[str, torch.Tensor], device: AieDevice
) -> Design:
    """`map_sharded` with the fewest shards whose kernels fit their tiles.

    Raises:
        UnsupportedOperatorError: as `map_sharded`.
        ResourceError: not even the smallest shards fit.
    """
    groups = StageReader(program, tensors).rows // CHAINS // TILE_ROWS
    most = CHAINS * max(groups, 1)
    least = min(most, CHAINS * -(-groups * TILE_ROWS // MOST_SHARD_ROWS))
    for shards in range(max(least, CHAINS), most, CHAINS):
        design = map_sharded(program, tensors, device, shards=shards)
        try:
            check_design(design)
        except ResourceError:
            continue
        return design
    return map_sharded(program, tensors, device, shards=most)


def _check_sizes(reader: StageReader, model: str) -> None:
    def check(layer: str, what: str, size: int, multiple: int) -> None:
        if size % multiple:
            raise UnsupportedOperatorError(
                f"the sharded mapping cannot take {layer}: it has {size} {what}, not a multiple "
                f"of {multiple}",
                where=model,
                fix=f"pad to {-(-size // multiple) * multiple}, or mapping='published'",
            )

    check("the input", "rows", reader.rows, CHAINS * TILE_FEATURES)
    check("the input", "features", reader.features, TILE_FEATURES)
    for stage in reader.stages:
        for step in stage.steps:
            if isinstance(step.work, Linear):
                check(step.work.layer, "outputs", step.work.weight.shape[0], TILE_FEATURES)
        if stage.attention:
            attention = stage.attention
            size = attention.query.weight.shape[0] // attention.op.heads
            check(attention.layer, "features a head", size, TILE_FEATURES)
            check(attention.layer, "outputs", attention.output.weight.shape[0], TILE_FEATURES)
            if attention.op.softmax == "table":
                raise UnsupportedOperatorError(
                    f"the sharded mapping cannot take {attention.layer}: a softmax by table is "
                    "scalar code on a tile",
                    where=model,
                    fix="softmax='polynomial', or mapping='published'",
                )


def _cut(model: str, rows: int, shards: int) -> list[Shard]:
    parts = CHAINS
    groups = rows // parts // TILE_ROWS
    each = shards // parts
    if (
        shards % parts
        or not 1 <= each <= groups
        or -(-groups // each) * TILE_ROWS > MOST_SHARD_ROWS
    ):
        least = parts * -(-groups * TILE_ROWS // MOST_SHARD_ROWS)
        raise OptionError(
            f"{shards} shards of {rows} rows",
            where=model,
            why=f"there are {parts} chains, and a shard has {TILE_ROWS} to {MOST_SHARD_ROWS} rows",
            fix=f"an even number from {least} to {parts * groups}",
        )
    found: list[Shard] = []
    for part in range(parts):
        before = 0
        for index in range(each):
            size = TILE_ROWS * ((index + 1) * groups // each - index * groups // each)
            found.append(Shard(len(found), part, part * rows // parts + before, size, before))
            before += size
    return found


class _Plan:
    """Builds the kernels and nets stage by stage."""

    def __init__(
        self, model: str, device: AieDevice, reader: StageReader, shards: list[Shard]
    ) -> None:
        self._model, self._device, self._reader, self._shards = model, device, reader, shards
        self._parts = 1 + max(shard.part for shard in shards)
        self._part_rows = reader.rows // self._parts
        self._kernels: dict[str, KernelInstance] = {}
        self._nets: list[Net] = []
        self._plios: list[Plio] = []

    def design(self, shards: int) -> Design:
        stages = self._reader.stages
        self._inputs()
        previous: Stage | None = None
        features = self._reader.features
        for index, stage in enumerate(stages):
            for shard in self._shards:
                self._row_kernel(index, stage, previous, shard, features)
            features = self._width(index)
            if stage.attention:
                self._attention(index, stage.attention)
            previous = stage
        self._connect_rows()
        self._outputs(len(stages) - 1, features)
        return Design(
            name=self._model, device=self._device, mapping=f"sharded ({shards} shards)",
            kernels=tuple(self._kernels.values()), plios=tuple(self._plios), nets=tuple(self._nets),
            notes=(f"{len(stages)} stages, {shards} shards in {self._parts} chains",),
        )  # fmt: skip

    def _row_name(self, stage: int, shard: Shard) -> str:
        return f"rows{stage}_s{shard.index}"

    def _head_name(self, stage: int, head: int, shard: Shard) -> str:
        return f"attention{stage}_h{head}_s{shard.index}"

    def _keys_name(self, stage: int, head: int, part: int) -> str:
        return f"keys{stage}_h{head}_p{part}"

    def _width(self, stage: int) -> int:
        shard = self._shards[0]
        port = self._kernels[self._row_name(stage, shard)].outputs[0]
        return port.bytes_per_jet // (shard.before + shard.rows)

    def _inputs(self) -> None:
        for part in range(self._parts):
            self._plios.append(Plio(
                name=f"input_{part}", is_input=True, bits=PLIO_BITS,
                shape=(self._part_rows, self._reader.features), tile_rows=TILE_ROWS,
                tile_columns=TILE_FEATURES, transposed=True, first_row=part * self._part_rows,
                file=f"data/input_{part}.txt",
            ))  # fmt: skip
            sinks = tuple(
                End(self._row_name(0, shard)) for shard in self._shards if shard.part == part
            )
            size = self._part_rows * self._reader.features
            self._net(End(f"input_{part}"), sinks, Link.STREAM, size)

    def _row_kernel(
        self, index: int, stage: Stage, previous: Stage | None, shard: Shard, features: int
    ) -> None:
        skipped = (0, 0)
        if previous is None:
            skipped = (shard.before, self._part_rows - shard.before - shard.rows)
        place = RowPlace(
            rows=shard.rows, before=shard.before, skipped=skipped,
            to_attention=stage.attention is not None,
        )  # fmt: skip
        name = self._row_name(index, shard)
        self._kernels[name] = row_kernel(name, stage, previous, place, features)

    def _attention(self, index: int, attention: Attention) -> None:
        heads = attention.op.heads
        for head in range(heads):
            for part in range(self._parts):
                name = self._keys_name(index, head, part)
                self._kernels[name] = keys_values_kernel(
                    name, attention, head, keys=self._part_rows
                )
            for shard in self._shards:
                name = self._head_name(index, head, shard)
                self._kernels[name] = attention_kernel(
                    name, attention, head, rows=shard.rows, keys=self._reader.rows,
                    parts=self._parts,
                )  # fmt: skip

    def _connect_rows(self) -> None:
        for index, stage in enumerate(self._reader.stages):
            for shard in self._shards:
                self._connect_chain(index, shard, stage.attention)
                if stage.attention:
                    self._connect_own(index, shard, stage.attention.op.heads)
            if stage.attention:
                self._connect_keys(index, stage.attention.op.heads)

    def _connect_chain(self, index: int, shard: Shard, attention: Attention | None) -> None:
        """To the next shard of the chain; from the last one to the kernels of keys and values."""
        name = self._row_name(index, shard)
        size = self._kernels[name].outputs[0].bytes_per_jet
        following = [s for s in self._shards if s.part == shard.part and s.before > shard.before]
        if following:
            sink = self._row_name(index, following[0])
            sinks: tuple[End, ...] = (End(sink, self._input(sink, "before")),)
        elif attention:
            sinks = tuple(
                End(self._keys_name(index, head, shard.part)) for head in range(attention.op.heads)
            )
        else:
            sinks = (End(f"output_{shard.part}"),)
        self._net(End(name), sinks, Link.STREAM, size)

    def _connect_own(self, index: int, shard: Shard, heads: int) -> None:
        """A shard's rows to its heads and as residual to its next stage; the heads' cascade."""
        name, after = self._row_name(index, shard), self._row_name(index + 1, shard)
        size = self._kernels[name].outputs[1].bytes_per_jet
        names = [self._head_name(index, head, shard) for head in range(heads)]
        sinks = [End(head, self._input(head, "rows")) for head in names]
        if any(port.name == "residual" for port in self._kernels[after].inputs):
            sinks.append(End(after, self._input(after, "residual")))
        # The heads read their rows only once keys and values are there.
        words = (_whole(size),) * len(sinks)
        self._net(End(name, 1), tuple(sinks), Link.STREAM, size, words)
        for source, sink in zip(names, [*names[1:], after], strict=True):
            sums = self._kernels[source].outputs[0].bytes_per_jet
            self._net(End(source), (End(sink, self._input(sink, "sums")),), Link.CASCADE, sums)

    def _connect_keys(self, index: int, heads: int) -> None:
        for head in range(heads):
            for part in range(self._parts):
                name = self._keys_name(index, head, part)
                size = self._kernels[name].outputs[0].bytes_per_jet
                sinks = tuple(
                    End(self._head_name(index, head, shard), part) for shard in self._shards
                )
                self._net(End(name), sinks, Link.STREAM, size)

    def _outputs(self, last: int, features: int) -> None:
        for part in range(self._parts):
            self._plios.append(Plio(
                name=f"output_{part}", is_input=False, bits=PLIO_BITS,
                shape=(self._part_rows, features), tile_rows=TILE_ROWS,
                tile_columns=TILE_FEATURES, transposed=True, first_row=part * self._part_rows,
                file=f"data/output_{part}.txt",
            ))  # fmt: skip

    def _input(self, kernel: str, port: str) -> int:
        return [p.name for p in self._kernels[kernel].inputs].index(port)

    def _net(
        self,
        source: End,
        sinks: tuple[End, ...],
        link: Link,
        size: int,
        fifo_words: tuple[int, ...] = (),
    ) -> None:
        self._nets.append(Net(
            source=source, sinks=sinks, link=link, bytes_per_jet=size, fifo_words=fifo_words,
        ))  # fmt: skip


def _whole(size_bytes: int) -> int:
    """Words of a FIFO that holds all of it: a multiple of 4."""
    return -(-size_bytes // 16) * 4
