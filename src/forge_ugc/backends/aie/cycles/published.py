"""The published jet tagger's kernels and network, in the form that the cycle model reads.

Source: KastnerRG/particle_transformer_aie, aie/kernels.h (structure of the loops) and README
(figures); arXiv 2606.17500. The compiler unrolls an innermost loop of fewer than four trips, and
pipelines the one around it.
"""

from __future__ import annotations

from forge_ugc.backends.aie.cycles.costs import Costs
from forge_ugc.backends.aie.design import (
    Design,
    End,
    KernelInstance,
    Link,
    Loop,
    Net,
    Plio,
    Port,
    Work,
)
from forge_ugc.backends.aie.device import VCK190
from forge_ugc.backends.aie.placement import place

ROWS, WIDTH, INPUTS, OUTPUTS, BLOCKS = 160, 64, 8, 8, 2
UNROLLED_BELOW = 4
FIGURES = Costs()
TOUCH = FIGURES.element_get + FIGURES.element_set
"""Cycles to move an int8 element of a vector through scalar registers."""
BIAS_TOUCH = TOUCH + FIGURES.element_arithmetic
SOFTMAX_ELEMENT = 259.0
"""Cycles of scalar softmax for an element: from the published first stripe of dense + softmax."""


def _products(name: str, trips: int, entries: int, vector: float, loads: float) -> Loop:
    return Loop(name=name, trips=trips * entries, entries=entries, vector=vector, loads=loads)


def _requantise(tiles: int, lanes: int) -> Loop:
    """int32 times a factor: eight lanes an instruction; then to the stream."""
    return Loop(
        name="requantise and write", trips=tiles, vector=lanes / 8, stream_out=lanes / 4,
        pipelined=False,
    )  # fmt: skip


def dense(inputs: int, outputs: int, *, rows: int = ROWS, bias: bool = False,
          softmax: bool = False) -> Work:  # fmt: skip
    """`dense` of i8[rows, inputs] by i8[inputs, outputs], tiles of 4 x 8."""
    stripes, depth, columns = rows // 4, inputs // 8, outputs // 8
    tiles = stripes * columns
    loops = [
        Loop(name="read a stripe", trips=stripes * depth, entries=stripes, stream_in=8),
        # A tile of weights is two loads, one of inputs another.
        _products("multiply", depth, tiles, 2, 3),
        _requantise(tiles, 32),
    ]
    if bias:
        loops.append(Loop(name="scalar bias", trips=tiles * 32, scalar=BIAS_TOUCH, pipelined=False))
    if softmax:
        loops.append(
            Loop(name="scalar softmax", trips=tiles * 32, scalar=SOFTMAX_ELEMENT, pipelined=False)
        )
    return Work(loops=tuple(loops), first_output_fraction=1 / (stripes if softmax else tiles))


def scores(size: int, rows: int = ROWS) -> Work:
    """Scores of a head of `size` features: keys are transposed element by element first."""
    stripes, depth = rows // 4, size // 8
    tiles = stripes * stripes
    transpose = Loop(
        name="transpose keys", trips=stripes * depth * 32, scalar=TOUCH, pipelined=False
    )
    read = Loop(name="read a stripe", trips=stripes * depth, entries=stripes, stream_in=8)
    if depth < UNROLLED_BELOW:
        row = Loop(
            name="multiply, requantise and write", trips=tiles, entries=stripes,
            vector=depth + 2, loads=2 * depth, stream_out=4,
        )  # fmt: skip
        loops: tuple[Loop, ...] = (transpose, read, row)
    else:
        loops = (transpose, read, _products("multiply", depth, tiles, 1, 2), _requantise(tiles, 16))
    done = transpose.trips * TOUCH
    rest = tiles * (depth + 10)  # what the first stripe is a small part of
    return Work(loops=loops, first_output_fraction=(done + rest / tiles) / (done + rest))


def context(size: int, rows: int = ROWS) -> Work:
    """Scores times values of a head, i8 by i16: a quarter of the rate of i8 by i8."""
    stripes, columns = rows // 4, size // 8
    tiles = stripes * columns
    return Work(
        loops=(
            Loop(name="read values", trips=tiles, stream_in=8, vector=1, stores=2),
            Loop(name="read a stripe", trips=stripes * stripes, entries=stripes, stream_in=4),
            _products("multiply", stripes, tiles, 4, 3),
            _requantise(tiles, 32),
        ),
        first_output_fraction=1 / tiles,
    )


def _copy(name: str, words: int, vector: float = 0.0) -> Work:
    return Work(
        loops=(Loop(name=name, trips=words // 8, stream_in=8, stream_out=8, vector=vector),),
        first_output_fraction=8 / words,
    )


class _Network:
    """Collects kernels and nets in the order in which data flow."""

    def __init__(self) -> None:
        self.kernels: list[KernelInstance] = []
        self.nets: dict[End, Net] = {}

    def add(self, name: str, work: Work, size: int, *inputs: tuple[End, int, float]) -> End:
        """A kernel of `size` output bytes; inputs are (source, bytes, share that it needs)."""
        for index, (source, bytes_, _) in enumerate(inputs):
            before = self.nets.get(source)
            sinks = () if before is None else before.sinks
            self.nets[source] = Net(
                source=source, sinks=(*sinks, End(name, index)), link=Link.STREAM,
                bytes_per_jet=bytes_,
            )  # fmt: skip
        ports = tuple(
            Port(name=f"in{i}", link=Link.STREAM, bytes_per_jet=bytes_, needed=needed)
            for i, (_, bytes_, needed) in enumerate(inputs)
        )
        self.kernels.append(KernelInstance(
            name=name, template="published", config={}, arrays={}, inputs=ports,
            outputs=(Port(name="out", link=Link.STREAM, bytes_per_jet=size),), layer=name,
            instructions=(), data_bytes=0, stack_bytes=0, work=work,
        ))  # fmt: skip
        return End(name)


STRIPE = 4 / ROWS


def _attention(net: _Network, block: int, heads: int, x: End) -> End:
    size, wide = WIDTH // heads, ROWS * WIDTH
    head_bytes = ROWS * size
    done = []
    for head in range(heads):
        q, k, v = (
            net.add(f"b{block}_{part}{head}", dense(WIDTH, size), head_bytes, (x, wide, STRIPE))
            for part in "qkv"
        )
        s = net.add(
            f"b{block}_scores{head}", scores(size), ROWS * ROWS, (q, head_bytes, STRIPE),
            (k, head_bytes, 1.0),
        )  # fmt: skip
        done.append(net.add(
            f"b{block}_context{head}", context(size), head_bytes, (s, ROWS * ROWS, STRIPE),
            (v, head_bytes, 1.0),
        ))  # fmt: skip
    while len(done) > 2:
        pairs = [done[i : i + 2] for i in range(0, len(done), 2)]
        done = [
            net.add(
                f"b{block}_concat{i}_{len(done)}", _copy("copy", head_bytes // 2),
                2 * head_bytes, *((end, head_bytes, STRIPE) for end in pair),
            )
            for i, pair in enumerate(pairs)
        ]  # fmt: skip
    share = wide // len(done)
    return net.add(
        f"b{block}_output", dense(WIDTH, WIDTH), wide, *((end, share, STRIPE) for end in done)
    )


def jet_tagger(heads: int) -> Design:
    """The published design without bias and softmax: 57 tiles with four heads; placed."""
    net, wide = _Network(), ROWS * WIDTH
    x = net.add("dense0", dense(INPUTS, WIDTH), wide, (End("x"), ROWS * INPUTS, STRIPE))
    for block in range(BLOCKS):
        for stage in ("attention", "feed_forward"):
            if stage == "attention":
                y = _attention(net, block, heads, x)
            else:
                y = net.add(f"b{block}_ff1", dense(WIDTH, WIDTH), wide, (x, wide, STRIPE))
                y = net.add(f"b{block}_ff2", dense(WIDTH, WIDTH), wide, (y, wide, STRIPE))
            add = _copy("add", wide // 4, 1.0)
            name = f"b{block}_add_{stage}"
            x = net.add(name, add, wide, (x, wide, STRIPE), (y, wide, STRIPE))
    x = net.add("out1", dense(WIDTH, WIDTH), wide, (x, wide, STRIPE))
    x = net.add("out2", dense(WIDTH, OUTPUTS), ROWS * OUTPUTS, (x, wide, STRIPE))
    out = Net(source=x, sinks=(End("y"),), link=Link.STREAM, bytes_per_jet=ROWS * OUTPUTS)
    plios = tuple(
        Plio(name=name, is_input=name == "x", bits=128, shape=(ROWS, columns), tile_rows=4,
             tile_columns=8)
        for name, columns in (("x", INPUTS), ("y", OUTPUTS))
    )  # fmt: skip
    return place(Design(
        name=f"published_{heads}_heads", device=VCK190, mapping="published",
        kernels=tuple(net.kernels), plios=plios, nets=(*net.nets.values(), out),
    ))  # fmt: skip
