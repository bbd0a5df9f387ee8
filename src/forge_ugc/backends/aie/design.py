"""A mapped design: kernel instances, the nets between them and the ports to the outside.

A mapping makes it; the resource checks, the placement, the cycle estimate, the project generator
and the report read it, and nothing else.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from forge_ugc.backends.aie.device import AieDevice

ConfigValue = bool | int | str
Array = npt.NDArray[np.int8] | npt.NDArray[np.int16] | npt.NDArray[np.int32]


class Link(enum.Enum):
    """How data moves from one kernel to another."""

    STREAM = "stream"
    BUFFER = "buffer"
    CASCADE = "cascade"


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One end of a net at a kernel; the order of a kernel's ports is that of its arguments.

    Attributes:
        link: of the net it belongs to.
        bytes_per_jet: what passes in one iteration of the graph.
        needed: of an input, the share that has to be there before the kernel can write its first
            word; 1 for buffers, whose kernel does not start before they are full.
        read_at: of an input, the share of the kernel's work that is done before it is read.
        follows: of an output, the inputs (by index) that it depends on; None for all.
    """

    name: str
    link: Link
    bytes_per_jet: int
    needed: float = 1.0
    read_at: float = 0.0
    follows: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """An innermost loop: cycles = trips * max(vector, ceil(loads / 2), stores, recurrence) + ...

    Attributes:
        trips: how often the body runs in one iteration of the graph, over all entries.
        entries: how often the loop is entered (each costs a prologue).
        vector, loads, stores, scalar: issues of one body; loads and stores are of 256 bits.
        stream_in, stream_out: 32-bit words of one body on the busiest port.
        name: what it computes, for the report.
        pipelined: False for a loop that the compiler cannot software-pipeline.
    """

    name: str
    trips: int
    entries: int = 1
    vector: float = 0.0
    loads: float = 0.0
    stores: float = 0.0
    scalar: float = 0.0
    stream_in: float = 0.0
    stream_out: float = 0.0
    pipelined: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one invocation of a kernel does, for the cycle model; counts for one iteration.

    Attributes:
        loops: the innermost loops, in their order.
        first_output_fraction: share of the work that is done before the first word goes out.
        program_bytes: estimate of the code.
    """

    loops: tuple[Loop, ...]
    first_output_fraction: float = 1.0
    program_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelInstance:
    """One kernel on one tile.

    Attributes:
        name: a C++ identifier made from the layer's name, unique in the design.
        template: name of the hand-written template of the kernel library (`dense`, `attention`).
        config: fields of its Config struct, in their order; `Query.shift` is the member `shift` of
            a struct `Query` inside.
        arrays: parameters in the layout that the kernel reads, by name of the Config's member.
        inputs, outputs: ports in the order of the function's arguments.
        layer: of the model, for messages; `instructions`: of the program, that it computes.
        data_bytes: parameters, local arrays and stack; buffers of nets are counted apart.
        comment: what it does, with shapes and scales; written into the generated source.
        body: statements of the generated function, for a kernel that is put together from several
            functions of the library; empty for one that is a single template.
        function: name of the C++ function; kernels with one function have equal contents. Empty
            for a function of its own, with the kernel's name.
    """

    name: str
    template: str
    config: Mapping[str, ConfigValue]
    arrays: Mapping[str, Array]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    layer: str
    instructions: tuple[int, ...]
    data_bytes: int
    stack_bytes: int
    work: Work
    comment: str = ""
    body: tuple[str, ...] = ()
    function: str = ""

    @property
    def callee(self) -> str:
        """Name of the C++ function."""
        return self.function or self.name


@dataclass(frozen=True, slots=True)
class End:
    """A kernel's port, or a PLIO (with port 0), by name."""

    node: str
    port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """A connection: one source to one or more sinks.

    Attributes:
        fifo_words: `adf::fifo_depth` in front of each sink, in 32-bit words; 0, or none given at
            all, leaves the default.
    """

    source: End
    sinks: tuple[End, ...]
    link: Link
    bytes_per_jet: int
    fifo_words: tuple[int, ...] = ()

    def fifos(self) -> tuple[tuple[End, int], ...]:
        """Every sink with the depth of its FIFO."""
        return tuple(zip(self.sinks, self.fifo_words or (0,) * len(self.sinks), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plio:
    """A port to the programmable logic.

    Attributes:
        bits: width, 32, 64 or 128. tile_rows, tile_columns: the matrix is cut into such tiles,
            each row-major, one after the other by rows.
        shape: (rows, columns) of the i8 matrix that passes in one iteration; for one of several
            ports, `first_row` is where its share starts in the model's tensor.
    """

    name: str
    is_input: bool
    bits: int
    shape: tuple[int, int]
    tile_rows: int
    tile_columns: int
    first_row: int = 0
    transposed: bool = False
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A whole design. Kernels are in an order in which data flows; names of nodes are unique."""

    name: str
    device: AieDevice
    mapping: str
    kernels: tuple[KernelInstance, ...]
    plios: tuple[Plio, ...]
    nets: tuple[Net, ...]
    notes: tuple[str, ...] = ()
    places: Mapping[str, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))
    """(column, row) of every kernel, once placed."""
