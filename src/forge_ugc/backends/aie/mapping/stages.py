"""A program of int8 operators as stages: work on rows alone, and attention between all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from forge_ugc.backends.aie.kernels.layout import I8, I32
from forge_ugc.backends.aie.mapping.source import Source
from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.npuir.instruction import Reg
from forge_ugc.npuir.program import Program
from forge_ugc.ops.int8_attention import Int8Attention


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """`int8_linear` with its parameters. weight: i8[out, in], bias: i32[out]."""

    layer: str
    index: int
    weight: I8
    bias: I32 | None
    multiplier: int
    shift: int
    relu: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """`int8_add` of two values of the same shape."""

    layer: str
    index: int
    features: int
    multiplier_a: int
    multiplier_b: int
    shift: int
    relu: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operation on rows: values are registers of the program."""

    work: Linear | Add
    sources: tuple[Reg, ...]
    target: Reg


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Projections, `int8_attention` and the output projection."""

    layer: str
    index: int
    query: Linear
    key: Linear
    value: Linear
    output: Linear
    op: Int8Attention


@dataclass(slots=True, kw_only=True)
class Stage:
    """Work on rows alone, up to the next attention.

    Attributes:
        source: what the rows come in as: the program's input, or the output projection of the
            attention before.
        residual: the rows of the stage before, where a step reads them.
        result: what leaves the stage.
        attention: what follows the stage; None for the last.
    """

    source: Reg
    result: Reg
    residual: Reg | None = None
    steps: list[Step] = field(default_factory=list)
    attention: Attention | None = None


class StageReader:
    """Reads one program; `stages` is the result, for one matrix of `rows` x `features`."""

    def __init__(self, program: Program, tensors: Mapping[str, torch.Tensor]) -> None:
        """Read the program.

        Raises:
            UnsupportedOperatorError: it is not a chain of such stages; says which instruction.
        """
        self._source = Source(program, tensors)
        self.rows, self.features = self._matrix(program)
        self._linears: dict[Reg, tuple[Linear, Reg]] = {}
        self._attended: int | None = None
        first = program.inputs[0].reg
        self.stages = [Stage(source=first, result=first)]
        for index in range(len(program.instructions)):
            self._read(index)
        self._finish(program)

    def _matrix(self, program: Program) -> tuple[int, int]:
        if len(program.inputs) != 1 or len(program.outputs) != 1:
            raise UnsupportedOperatorError(
                f"the model has {len(program.inputs)} inputs and {len(program.outputs)} outputs",
                where=program.name,
                why="the sharded mapping streams the rows of one matrix",
                fix="mapping='published'",
            )
        return self._source.matrix(program.inputs[0].type, "the input")

    def _read(self, index: int) -> None:
        instruction, target = self._source.instruction(index), self._source.result(index)
        if instruction.opcode == "int8_attention":
            if self._attended is not None:
                raise self._source.unsupported(index, "it follows an attention without projection")
            self._attended = index
        elif instruction.opcode == "int8_linear":
            work, source = self._linear(index), self._source.register(index, 0)
            self._linears[target] = (work, source)
            if self._attended is not None and source == self._source.result(self._attended):
                self._close(work, target)
            elif not self._is_projection(target):
                self._step(index, work, (source,), target)
        elif instruction.opcode == "int8_add":
            sources = (self._source.register(index, 0), self._source.register(index, 1))
            self._step(index, self._add(index), sources, target)
        else:
            raise self._source.unsupported(
                index, "the sharded mapping takes linear layers, attention and sums alone"
            )

    def _is_projection(self, target: Reg) -> bool:
        users = self._source.users(target)
        return bool(users) and all(user.opcode == "int8_attention" for user in users)

    def _step(self, index: int, work: Linear | Add, sources: tuple[Reg, ...], target: Reg) -> None:
        stage = self.stages[-1]
        known = {stage.source, *(step.target for step in stage.steps)}
        if len(self.stages) > 1:
            before = self.stages[-2].result
            known.add(before)
            if before in sources:
                stage.residual = before
        if not known.issuperset(sources):
            raise self._source.unsupported(
                index, "it reads rows that are further back than the last attention's"
            )
        stage.steps.append(Step(work=work, sources=sources, target=target))
        stage.result = target

    def _close(self, output: Linear, target: Reg) -> None:
        """The output projection ends one stage and begins the next."""
        index, stage = self._attended, self.stages[-1]
        if index is None:
            return
        registers = [self._source.register(index, operand) for operand in range(3)]
        if any(register not in self._linears for register in registers):
            raise self._source.unsupported(index, "its operands are not projections of the rows")
        (query, *_), (key, *_), (value, *_) = (self._linears[reg] for reg in registers)
        sources = {self._linears[register][1] for register in registers}
        if sources != {stage.result} or len(self._source.users(self._source.result(index))) != 1:
            raise self._source.unsupported(
                index, "it does not attend to the rows that come out of the layers before it"
            )
        stage.attention = Attention(
            layer=self._source.layer(index), index=index, query=query, key=key, value=value,
            output=output, op=self._op(index),
        )  # fmt: skip
        self._attended = None
        self.stages.append(Stage(source=target, result=target))

    def _op(self, index: int) -> Int8Attention:
        source = self._source
        return Int8Attention(
            heads=source.attribute(index, "heads", 1),
            softmax=source.attribute(index, "softmax", "none"),
            score_multipliers=source.integers(index, "score_multipliers"),
            score_shifts=source.integers(index, "score_shifts"),
            context_multipliers=source.integers(index, "context_multipliers"),
            context_shifts=source.integers(index, "context_shifts"),
            exp_multipliers=source.integers(index, "exp_multipliers"),
            exp_shifts=source.integers(index, "exp_shifts"),
        )

    def _finish(self, program: Program) -> None:
        if self._attended is not None or program.outputs[0] != self.stages[-1].result:
            raise UnsupportedOperatorError(
                "the model does not end in a layer that works on rows",
                where=program.name,
                why="the last kernels of the sharded mapping hold rows",
                fix="mapping='published'",
            )

    def _linear(self, index: int) -> Linear:
        source = self._source
        weight, bias = source.array(index, 1), source.array(index, 2)
        if weight is None:
            raise source.unsupported(index, "it has no weight")
        return Linear(
            layer=source.layer(index), index=index, weight=weight.astype(np.int8),
            bias=None if bias is None else bias.astype(np.int32),
            multiplier=source.attribute(index, "multiplier", 1),
            shift=source.attribute(index, "shift", 0),
            relu=source.attribute(index, "relu", default=False),
        )  # fmt: skip

    def _add(self, index: int) -> Add:
        source = self._source
        return Add(
            layer=source.layer(index), index=index,
            features=source.instruction(index).results[0].type.shape[-1],
            multiplier_a=source.attribute(index, "multiplier_a", 1),
            multiplier_b=source.attribute(index, "multiplier_b", 1),
            shift=source.attribute(index, "shift", 0),
            relu=source.attribute(index, "relu", default=False),
        )  # fmt: skip
