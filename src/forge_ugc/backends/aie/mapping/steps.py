"""One kernel for each operator that is not attention, on streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from forge_ugc.backends.aie.kernels.add import Add
from forge_ugc.backends.aie.kernels.concat import Concat
from forge_ugc.backends.aie.kernels.dense import Dense
from forge_ugc.backends.aie.kernels.instance import Label
from forge_ugc.backends.aie.kernels.layout import padded
from forge_ugc.backends.aie.kernels.pool import Pool
from forge_ugc.backends.aie.kernels.relu import Relu
from forge_ugc.backends.aie.kernels.softmax import Softmax
from forge_ugc.backends.aie.mapping.activation import Activation, Part, plain, spread_inputs
from forge_ugc.backends.aie.mapping.source import Source
from forge_ugc.backends.aie.mapping.wiring import Wiring
from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.npuir.instruction import Ref, Reg
from forge_ugc.npuir.program import InputDecl

DENSE_STREAMS = 2
"""Streams that a dense kernel reads: all that a tile of the first generation has."""


@dataclass(slots=True)
class State:
    """A mapping under way: the program, the design so far, and where each register is."""

    source: Source
    wiring: Wiring
    places: dict[Reg, Activation] = field(default_factory=dict)

    def declare_input(self, declared: InputDecl) -> None:
        """A port for an input of the program."""
        rows, columns = self.source.matrix(declared.type, f"input {declared.name}")
        end = self.wiring.input(declared.name or "input", rows, columns)
        self.places[declared.reg] = Activation(
            rows=rows, columns=columns, parts=(Part(end, plain(columns)),)
        )

    def activation(self, ref: Ref | object) -> Activation:
        """Where a register is.

        Raises:
            UnsupportedOperatorError: it is none, but a constant or a number.
        """
        if not isinstance(ref, Reg) or ref not in self.places:
            raise UnsupportedOperatorError(
                f"the aie target cannot read {ref} as an activation",
                where=self.source.program.name,
                why="kernels read results of other kernels and inputs of the model",
            )
        return self.places[ref]

    def label(self, index: int, suffix: str = "") -> Label:
        """A kernel's label, named after the layer."""
        layer = self.source.layer(index)
        wish = f"{layer}_{suffix}" if suffix else layer
        return Label(name=self.wiring.names.unique(wish), layer=layer, instructions=(index,))

    def place(self, index: int, part: Part, *, like: Activation | None = None) -> None:
        """Record where an instruction's result is."""
        result = self.source.instruction(index).results[0]
        rows, columns = self.source.matrix(result.type, f"layer {self.source.layer(index)}")
        if like is not None:
            rows, columns = like.rows, like.columns
        self.places[result.reg] = Activation(rows=rows, columns=columns, parts=(part,))


def few_streams(state: State, value: Activation, streams: int, layer: str) -> Activation:
    """The activation on at most so many streams: neighbours are put side by side, in a tree."""
    parts = list(value.parts)
    while len(parts) > streams:
        joined = []
        for left in range(0, len(parts) - 1, 2):
            joined.append(_joined(state, value.rows, parts[left], parts[left + 1], layer))
        parts = joined + parts[2 * len(joined) :]
    return Activation(rows=value.rows, columns=value.columns, parts=tuple(parts))


def single(state: State, index: int, operand: int = 0) -> Activation:
    """An operand of an instruction on one stream, its columns in any order."""
    value = state.activation(state.source.register(index, operand))
    return few_streams(state, value, 1, state.source.layer(index))


def one_stream(state: State, value: Activation, layer: str, what: str) -> Activation:
    """The activation on one stream, its columns in their order.

    Raises:
        UnsupportedOperatorError: heads whose width is no multiple of 8 leave gaps in it.
    """
    joined = few_streams(state, value, 1, layer)
    if joined.order != plain(value.columns):
        raise UnsupportedOperatorError(
            f"the aie target cannot use the heads of an attention as {what}",
            where=state.source.program.name,
            why="their width is no multiple of 8, and only a linear layer skips the gaps",
            fix="put a linear layer behind the attention",
        )
    return joined


def _joined(state: State, rows: int, left: Part, right: Part, layer: str) -> Part:
    kernel = Concat(
        rows=padded(rows), columns_a=len(left.columns), columns_b=len(right.columns)
    ).instance(
        Label(name=state.wiring.names.unique(f"{layer}_concat"), layer=layer), state.wiring.device
    )
    end = state.wiring.add(kernel, left.source, right.source)
    return Part(end, (*left.columns, *right.columns))


def map_linear(state: State, index: int) -> None:
    """A dense kernel; none for projections that only attention reads: it makes them by heads."""
    source = state.source
    result = source.result(index)
    users = source.users(result)
    of_heads = users and all(user.opcode == "int8_attention" for user in users)
    if of_heads and result not in source.program.outputs:
        return
    layer = source.layer(index)
    x = few_streams(state, state.activation(source.register(index, 0)), DENSE_STREAMS, layer)
    weight, bias = source.array(index, 1), source.array(index, 2)
    if weight is None:
        raise source.unsupported(index, "it has no weight")
    kernel = Dense(
        rows=padded(x.rows), weight=spread_inputs(weight.astype(np.int8), x.order),
        bias=None if bias is None else bias.astype(np.int32),
        multiplier=source.attribute(index, "multiplier", 1),
        shift=source.attribute(index, "shift", 0), relu=source.attribute(index, "relu", False),
        second_inputs=len(x.parts[1].columns) if len(x.parts) == DENSE_STREAMS else 0,
    ).instance(state.label(index), state.wiring.device)  # fmt: skip
    end = state.wiring.add(kernel, *(part.source for part in x.parts))
    state.place(index, Part(end, plain(weight.shape[0])))


def map_add(state: State, index: int) -> None:
    """A sum of two activations whose columns lie alike."""
    source = state.source
    a, b = (single(state, index, operand) for operand in (0, 1))
    if a.order != b.order:
        raise source.unsupported(index, "the columns of its operands do not lie alike: heads of an "
                                 "attention whose width is no multiple of 8")  # fmt: skip
    kernel = Add(
        rows=padded(a.rows), columns=len(a.order),
        multiplier_a=source.attribute(index, "multiplier_a", 1),
        multiplier_b=source.attribute(index, "multiplier_b", 1),
        shift=source.attribute(index, "shift", 0), relu=source.attribute(index, "relu", False),
    ).instance(state.label(index), state.wiring.device)  # fmt: skip
    end = state.wiring.add(kernel, a.parts[0].source, b.parts[0].source)
    state.place(index, Part(end, a.order))


def map_relu(state: State, index: int) -> None:
    """A ReLU on its own."""
    x = single(state, index)
    kernel = Relu(rows=padded(x.rows), columns=len(x.order)).instance(
        state.label(index), state.wiring.device
    )
    state.place(index, Part(state.wiring.add(kernel, x.parts[0].source), x.order))


def map_pool(state: State, index: int) -> None:
    """A mean or maximum over rows."""
    source = state.source
    x = single(state, index)
    kernel = Pool(
        real_rows=x.rows, columns=len(x.order), kind=source.attribute(index, "kind", "mean"),
        multiplier=source.attribute(index, "multiplier", 1),
        shift=source.attribute(index, "shift", 0), relu=source.attribute(index, "relu", False),
    ).instance(state.label(index), state.wiring.device)  # fmt: skip
    state.place(index, Part(state.wiring.add(kernel, x.parts[0].source), x.order))


def map_softmax(state: State, index: int) -> None:
    """A softmax over columns."""
    source = state.source
    x = one_stream(
        state, state.activation(source.register(index, 0)), source.layer(index), "a softmax's input"
    )
    table = source.array(index, 1)
    kernel = Softmax(
        rows=padded(x.rows), columns=x.columns, method=source.attribute(index, "method", "table"),
        exp_multiplier=source.attribute(index, "multiplier", 1),
        exp_shift=source.attribute(index, "shift", 0),
        exp_table=None if table is None else table.astype(np.int16),
        bits=source.attribute(index, "bits", 7),
    ).instance(state.label(index), state.wiring.device)  # fmt: skip
    state.place(index, Part(state.wiring.add(kernel, x.parts[0].source), plain(x.columns)))


STEPS: Mapping[str, Callable[[State, int], None]] = MappingProxyType({
    "int8_linear": map_linear,
    "int8_add": map_add,
    "aten.relu.default": map_relu,
    "int8_pool": map_pool,
    "int8_softmax": map_softmax,
})  # fmt: skip
