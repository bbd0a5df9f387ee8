"""Kernels of the sharded mapping: their configurations, parameters, memory and work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forge_ugc.backends.aie.design import Array, ConfigValue, KernelInstance, Link, Loop, Port, Work
from forge_ugc.backends.aie.mapping.stages import Add, Attention, Linear

TILE_ROWS, TILE_FEATURES = 4, 8
TILE_BYTES = TILE_ROWS * TILE_FEATURES
ACCUMULATOR_BYTES = 6
"""Of one lane of acc48."""

# Issues of vector instructions for one tile of 32 lanes; what the simulator charges for the same
# calls (tests/backends/aie/kernels/test_sharded.py compares them).
PRODUCT = 2.0
REQUANTISE = 14.0
EXPONENTIAL = 52.0
TURN = 9.0


def weight_tiles(weight: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """i8[out, in] as tiles of 8 x 8, row-major, for every 8 outputs, for every 8 inputs."""
    rows, columns = (size // TILE_FEATURES for size in weight.shape)
    tiles = weight.reshape(rows, TILE_FEATURES, columns, TILE_FEATURES).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(tiles).reshape(-1)


def bias_lanes(bias: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """i32[out] with every value once for each row of a tile."""
    return np.repeat(bias, TILE_ROWS)


@dataclass(frozen=True, slots=True)
class Part:
    """Fields and arrays of one struct inside a Config."""

    config: dict[str, ConfigValue]
    arrays: dict[str, Array]


def linear_part(
    name: str, linear: Linear, weight: npt.NDArray[np.int8], bias: npt.NDArray[np.int32] | None
) -> Part:
    """A dense layer, or the share of it that a weight and a bias stand for."""
    outputs, inputs = weight.shape
    config: dict[str, ConfigValue] = {
        "inputs": inputs, "outputs": outputs, "multiplier": linear.multiplier,
        "shift": linear.shift, "relu": linear.relu, "has_bias": bias is not None,
    }  # fmt: skip
    arrays: dict[str, Array] = {"weights": weight_tiles(weight)}
    if bias is not None:
        arrays["bias"] = bias_lanes(bias)
    return named(name, config, arrays)


def add_part(name: str, add: Add) -> Part:
    """A residual add."""
    return named(
        name,
        {"features": add.features, "multiplier_a": add.multiplier_a,
         "multiplier_b": add.multiplier_b, "shift": add.shift, "relu": add.relu},
        {},
    )  # fmt: skip


def named(name: str, config: dict[str, ConfigValue], arrays: dict[str, Array]) -> Part:
    """Members of a struct `name` inside a Config."""
    return Part(
        {f"{name}.{key}": value for key, value in config.items()},
        {f"{name}.{key}": value for key, value in arrays.items()},
    )


def joined(parts: Sequence[Part]) -> tuple[dict[str, ConfigValue], dict[str, Array]]:
    """Fields and arrays of one Config."""
    config: dict[str, ConfigValue] = {}
    arrays: dict[str, Array] = {}
    for part in parts:
        config.update(part.config)
        arrays.update(part.arrays)
    return config, arrays


def array_bytes(arrays: dict[str, Array]) -> int:
    """Bytes of all parameters."""
    return sum(array.nbytes for array in arrays.values())


def dense_loop(name: str, groups: int, outputs: int, inputs: int) -> Loop:
    """The loop of `dense`: one tile of outputs a round."""
    depth = inputs / TILE_FEATURES
    return Loop(
        name=name, trips=groups * outputs // TILE_FEATURES, entries=groups,
        vector=depth * PRODUCT + REQUANTISE, loads=depth * 3, stores=1,
    )  # fmt: skip


def attention_kernel(
    name: str, attention: Attention, head: int, *, rows: int, keys: int, parts: int
) -> KernelInstance:
    """Head `head` for one shard of `rows` rows."""
    op = attention.op
    features = attention.query.weight.shape[1]
    size = attention.query.weight.shape[0] // op.heads
    own = slice(head * size, (head + 1) * size)
    softmax = op.softmax != "none"
    config, arrays = joined(_attention_parts(attention, head, own))
    config.update(rows=rows, keys=keys, parts=parts, softmax=softmax)
    outputs = attention.output.weight.shape[0]
    sums = rows * outputs * ACCUMULATOR_BYTES
    work = _attention_work(rows, keys, size, features, outputs, softmax=softmax)
    ports = [
        Port(name=f"keys_values_{part}", link=Link.BUFFER, bytes_per_jet=2 * size * keys // parts)
        for part in range(parts)
    ]
    ports.append(Port(name="rows", link=Link.STREAM, bytes_per_jet=rows * features,
                      needed=TILE_ROWS / rows))  # fmt: skip
    if head:
        ports.append(
            Port(
                name="sums",
                link=Link.CASCADE,
                bytes_per_jet=sums,
                needed=0.0,
                read_at=work.first_output_fraction,
            )
        )
    return KernelInstance(
        name=name, template="sharded/attention", config=config, arrays=arrays,
        inputs=tuple(ports),
        outputs=(Port(name="out", link=Link.CASCADE, bytes_per_jet=sums),),
        layer=attention.layer, instructions=(attention.index,), data_bytes=array_bytes(arrays),
        stack_bytes=rows * keys + TILE_ROWS * (features + size) + 4 * max(rows, 16) + 1024,
        work=work,
        comment=f"Head {head} of {attention.layer} for {rows} rows: query projection "
                f"{features} -> {size}, {keys} keys, output projection {size} -> {outputs}.",
        body=_attention_body(head, parts), function=f"{name.rpartition('_')[0]}_r{rows}",
    )  # fmt: skip


def _attention_parts(attention: Attention, head: int, own: slice) -> list[Part]:
    """The structs of one head, which owns the columns `own` of the projections."""
    op = attention.op
    scores: dict[str, ConfigValue] = {
        "multiplier": op.score_multipliers[head], "shift": op.score_shifts[head], "relu": False,
    }  # fmt: skip
    factor = "numerator" if op.softmax != "none" else "multiplier"
    context: dict[str, ConfigValue] = {
        factor: op.context_multipliers[head], "shift": op.context_shifts[head], "relu": False,
    }  # fmt: skip
    pieces = [
        linear_part("Query", attention.query, attention.query.weight[own],
                    _own(attention.query, own)),
        named("Scores", scores, {}),
        named("Context", context, {}),
        linear_part("Output", attention.output, attention.output.weight[:, own],
                    attention.output.bias if head == 0 else None),
    ]  # fmt: skip
    if op.softmax != "none":
        exp: dict[str, ConfigValue] = {
            "multiplier": op.exp_multipliers[head], "shift": op.exp_shifts[head],
        }  # fmt: skip
        pieces.append(named("Softmax", exp, {}))
    return pieces


def _attention_body(head: int, parts: int) -> tuple[str, ...]:
    pointers = ", ".join(f"keys_values_{part}.data()" for part in range(parts))
    take = "from_cascade(sums)" if head else "from_bias<Config>()"
    return (
        f"const int8* const parts[] = {{{pointers}}};",
        f"attend<Config>(parts, rows, {take}, out);",
    )


def _own(linear: Linear, own: slice) -> npt.NDArray[np.int32] | None:
    return None if linear.bias is None else linear.bias[own]


def _attention_work(
    rows: int, keys: int, size: int, features: int, outputs: int, *, softmax: bool
) -> Work:
    groups, blocks, depth = rows // TILE_ROWS, keys // 8, size // TILE_FEATURES
    loops = [
        Loop(name="rows", trips=groups * features // TILE_FEATURES, entries=groups, stores=1,
             stream_in=8),
        dense_loop("query", groups, size, features),
        Loop(name="scores", trips=groups * blocks, entries=groups, loads=3 * depth, stores=1,
             vector=depth * PRODUCT + REQUANTISE + 2),
    ]  # fmt: skip
    if softmax:
        loops.append(Loop(name="weights", trips=groups * blocks, entries=groups, loads=1, stores=1,
                          vector=EXPONENTIAL))  # fmt: skip
        loops.append(Loop(name="reciprocals", trips=24 * -(-rows // 16), entries=-(-rows // 16),
                          vector=7))  # fmt: skip
    loops.append(Loop(name="context", trips=groups * depth * blocks, entries=groups * depth,
                      vector=PRODUCT, loads=3))  # fmt: skip
    loops.append(Loop(name="scale", trips=groups * depth, vector=REQUANTISE, pipelined=False))
    loops.append(Loop(name="output", trips=groups * outputs // TILE_FEATURES, entries=groups,
                      vector=depth * PRODUCT, loads=3 * depth, stores=0, stream_out=4))  # fmt: skip
    # Scores, weights and reciprocals of all rows come first, then context and output row by row.
    sizes = [loop.trips * max(loop.vector, loop.loads / 2, loop.stream_in) for loop in loops]
    after = sum(sizes[-3:])
    first = 1 - after * (groups - 1 + 0.1) / groups / sum(sizes)
    return Work(loops=tuple(loops), first_output_fraction=first, program_bytes=6000)


def keys_values_kernel(name: str, attention: Attention, head: int, *, keys: int) -> KernelInstance:
    """Keys and values of head `head` for `keys` rows."""
    features = attention.key.weight.shape[1]
    size = attention.key.weight.shape[0] // attention.op.heads
    own = slice(head * size, (head + 1) * size)
    pieces = [
        linear_part("Keys", attention.key, attention.key.weight[own], _own(attention.key, own)),
        linear_part("Values", attention.value, attention.value.weight[own],
                    _own(attention.value, own)),
    ]  # fmt: skip
    config, arrays = joined(pieces)
    config["keys"] = keys
    parts, tiles = size // TILE_FEATURES, features // TILE_FEATURES
    round_ = Loop(
        name="project", trips=keys // 8 * parts, entries=keys // 8,
        vector=4 * (tiles * PRODUCT + REQUANTISE) + 2 * TURN + 6,
        loads=4 * 3 * tiles, stores=2 * tiles / parts,
        stream_in=2 * tiles * TILE_BYTES / 4 / parts, stream_out=2 * 2 * TILE_BYTES / 4 * 2,
    )  # fmt: skip
    first = Loop(name="first rows", trips=2 * tiles, stores=1, stream_in=8)
    return KernelInstance(
        name=name, template="sharded/keys_values", config=config, arrays=arrays,
        inputs=(Port(name="rows", link=Link.STREAM, bytes_per_jet=keys * features,
                     needed=8 / keys),),
        outputs=(Port(name="out", link=Link.STREAM, bytes_per_jet=2 * keys * size),),
        layer=attention.layer, instructions=(attention.index,), data_bytes=array_bytes(arrays),
        stack_bytes=2 * 8 * features + 1024,
        work=Work(loops=(first, round_), first_output_fraction=min(1.0, 8 / keys),
                  program_bytes=5000),
        comment=f"Keys and values of head {head} of {attention.layer} for {keys} rows: "
                f"{features} -> {size} each.", body=("keys_values<Config>(rows, out);",),
        function=name.rpartition("_")[0],
    )  # fmt: skip
