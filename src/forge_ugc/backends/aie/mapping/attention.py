"""Attention by heads: five kernels for each, on streams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forge_ugc.backends.aie.design import End
from forge_ugc.backends.aie.kernels.context import Context
from forge_ugc.backends.aie.kernels.dense import Dense
from forge_ugc.backends.aie.kernels.instance import Label
from forge_ugc.backends.aie.kernels.layout import I8, I32, padded
from forge_ugc.backends.aie.kernels.scores import Scores
from forge_ugc.backends.aie.mapping.activation import Activation, Part, plain, spread_inputs
from forge_ugc.backends.aie.mapping.source import Source
from forge_ugc.backends.aie.mapping.steps import DENSE_STREAMS, State, few_streams


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """The linear layer that makes queries, keys or values of all heads.

    weight: i8[heads * size, K], its inputs as they lie on the streams; bias: i32[heads * size].
    """

    index: int
    inputs: Activation
    weight: I8
    bias: I32 | None
    multiplier: int
    shift: int
    relu: bool

    def head(self, head: int, size: int, *, transposed: bool = False) -> Dense:
        """The kernel that makes one head's share."""
        rows = slice(head * size, (head + 1) * size)
        second = len(self.inputs.parts[1].columns) if len(self.inputs.parts) > 1 else 0
        return Dense(
            rows=padded(self.inputs.rows), weight=self.weight[rows],
            bias=None if self.bias is None else self.bias[rows], multiplier=self.multiplier,
            shift=self.shift, relu=self.relu, transposed=transposed, second_inputs=second,
        )  # fmt: skip

    @property
    def sources(self) -> tuple[End, ...]:
        """The streams that the kernel reads."""
        return tuple(part.source for part in self.inputs.parts)


def projection(state: State, index: int, operand: int) -> Projection:
    """The linear layer behind an operand of attention.

    Raises:
        UnsupportedOperatorError: something else makes it.
    """
    source = state.source
    name = ("queries", "keys", "values")[operand]
    maker = source.maker(source.register(index, operand))
    if maker is None or source.instruction(maker).opcode != "int8_linear":
        raise source.unsupported(index, f"its {name} are not made by a linear layer")
    x = few_streams(
        state, state.activation(source.register(maker, 0)), DENSE_STREAMS,
        source.layer(maker),
    )  # fmt: skip
    weight, bias = source.array(maker, 1), source.array(maker, 2)
    if weight is None:
        raise source.unsupported(maker, "it has no weight")
    return Projection(
        index=maker, inputs=x, weight=spread_inputs(weight.astype(np.int8), x.order),
        bias=None if bias is None else bias.astype(np.int32),
        multiplier=source.attribute(maker, "multiplier", 1),
        shift=source.attribute(maker, "shift", 0), relu=source.attribute(maker, "relu", False),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadFactors:
    """Factors of one head, from the attributes and the table of `int8_attention`."""

    score: tuple[int, int]
    context: tuple[int, int]
    softmax: str
    exponent: tuple[int, int]
    table: I8 | None


def head_factors(source: Source, index: int, head: int) -> HeadFactors:
    """The factors of head number `head`."""

    def pair(name: str) -> tuple[int, int]:
        multipliers = source.integers(index, f"{name}_multipliers")
        shifts = source.integers(index, f"{name}_shifts")
        return (multipliers[head], shifts[head]) if multipliers else (1, 0)

    tables = source.array(index, 3)
    return HeadFactors(
        score=pair("score"), context=pair("context"), exponent=pair("exp"),
        softmax=source.attribute(index, "softmax", "none"),
        table=None if tables is None else tables[head].astype(np.int8),
    )  # fmt: skip


def map_attention(state: State, index: int) -> None:
    """Five kernels a head; the result is on as many streams as there are heads."""
    source = state.source
    heads = source.attribute(index, "heads", 1)
    queries, keys, values = (projection(state, index, operand) for operand in range(3))
    size = len(queries.weight) // heads
    parts = []
    for head in range(heads):
        end = _map_head(state, index, head, size, (queries, keys, values))
        parts.append(Part(end, plain(size, head * size)))
    result = source.instruction(index).results[0]
    rows, columns = source.matrix(result.type, f"layer {source.layer(index)}")
    state.places[result.reg] = Activation(rows=rows, columns=columns, parts=tuple(parts))


def _map_head(
    state: State, index: int, head: int, size: int, projections: tuple[Projection, ...]
) -> End:
    source, wiring = state.source, state.wiring
    factors = head_factors(source, index, head)
    made = []
    for name, part in zip(("query", "key", "value"), projections, strict=True):
        kernel = part.head(head, size, transposed=name == "key").instance(
            _label(state, part.index, f"{name}{head}", index), wiring.device
        )
        made.append(wiring.add(kernel, *part.sources))
    query, key, value = made
    rows, real_keys = padded(projections[0].inputs.rows), projections[1].inputs.rows
    scores = Scores(
        rows=rows, keys=real_keys, depth=size, multiplier=factors.score[0],
        shift=factors.score[1], softmax=factors.softmax, exp_multiplier=factors.exponent[0],
        exp_shift=factors.exponent[1], exp_table=factors.table,
    ).instance(_label(state, index, f"scores{head}", index), wiring.device)  # fmt: skip
    context = Context(
        rows=rows, keys=real_keys, depth=size, multiplier=factors.context[0],
        shift=factors.context[1], softmax=factors.softmax,
    ).instance(_label(state, index, f"context{head}", index), wiring.device)  # fmt: skip
    return wiring.add(context, wiring.add(scores, query, key), value)


def _label(state: State, instruction: int, suffix: str, attention: int) -> Label:
    """Named after the attention, also where the projections are modules of their own."""
    layer = state.source.layer(attention)
    name = state.wiring.names.unique(f"{layer}_{suffix}")
    return Label(name=name, layer=layer, instructions=(instruction,))
