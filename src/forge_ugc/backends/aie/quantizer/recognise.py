"""Reads a float program as layers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, cast

import torch

from forge_ugc.backends.aie.quantizer.graph import (
    Add,
    Affine,
    Attention,
    Input,
    Linear,
    Node,
    Pool,
    Relu,
    Softmax,
)
from forge_ugc.backends.aie.quantizer.located import Located, by_heads, every_row_once
from forge_ugc.backends.aie.quantizer.operators import VIEWS, base_name, refusal
from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.npuir.instruction import Const, Instruction, Operand, Reg
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.schema import overload_of, unbind

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Recognised:
    """A float program as layers over one input of `jets` matrices; an output's shape is its own."""

    input: Input
    jets: int
    outputs: tuple[Located, ...]


def recognise(program: Program, tensors: Tensors) -> Recognised:
    """The layers of a program whose attention is fused.

    Raises:
        UnsupportedOperatorError: an operator, or the way it is used, has no integer kernel; names
            the layer, the reason and a remedy.
    """
    return _Reader(program, tensors).read()


class _Reader:
    def __init__(self, program: Program, tensors: Tensors) -> None:
        self.program, self.tensors = program, tensors
        self.values: dict[Reg, Located] = {}
        self.names: set[str] = set()
        self.slices: dict[tuple[int, tuple[int, ...]], Linear] = {}
        self.jets = 1

    def read(self) -> Recognised:
        source = self.declare_input()
        for instruction in self.program.instructions:
            self.instruction = instruction
            self.step(instruction)
        outputs = []
        for ref in self.program.outputs:
            if not isinstance(ref, Reg) or isinstance(self.values[ref].node, Input | Affine):
                raise UnsupportedOperatorError(
                    f"target 'aie' cannot return {ref} of {self.program.name}",
                    why="it is the result of no layer", fix="return what a layer computes",
                )  # fmt: skip
            outputs.append(self.values[ref])
        return Recognised(source, self.jets, tuple(outputs))

    def declare_input(self) -> Input:
        declared = self.program.inputs
        kind = declared[0].type if declared else None
        fits = len(declared) == 1 and kind is not None and kind.dtype is DType.F32
        if not fits or kind is None or not 1 <= kind.rank <= 3 or not kind.is_contiguous:
            shown = ", ".join(f"{d.name}: {d.type}" for d in declared)
            raise UnsupportedOperatorError(
                f"target 'aie' cannot take the inputs of {self.program.name}",
                why=f"they are {shown or 'none'}",
                fix="give one f32[jets, particles, features] or f32[particles, features]",
            )
        shape = kind.shape
        self.jets = shape[0] if kind.rank == 3 else 1
        rows = shape[-2] if kind.rank > 1 else 1
        self.names.add("input")
        node = Input(name="input", rows=rows, columns=shape[-1])
        self.values[declared[0].reg] = Located(node, torch.arange(kind.numel).view(shape))
        return node

    def step(self, instruction: Instruction) -> None:
        name = base_name(instruction.opcode)
        if name in VIEWS:
            self.view(instruction, name)
            return
        refused = refusal(instruction.opcode)
        if refused is not None:
            self.refuse(*refused)
        handler = cast(Callable[[Instruction], Located], getattr(self, name.rstrip("_")))
        self.values[instruction.results[0].reg] = handler(instruction)

    def view(self, instruction: Instruction, name: str) -> None:
        value = self.operand(0)
        if name == "dropout":
            self.values[instruction.results[0].reg] = value
            return
        overload = overload_of(instruction.opcode)
        rest = instruction.operands[1:]
        args, kwargs = unbind(overload, [value.index, *rest], instruction.attributes)
        made = overload(*args, **kwargs)
        for result, index in zip(
            instruction.results, made if isinstance(made, list | tuple) else [made], strict=True
        ):
            self.values[result.reg] = Located(value.node, index)

    def linear(self, instruction: Instruction) -> Located:
        weight = self.constant(1)
        has_bias = len(instruction.operands) > 2 and instruction.operands[2] is not None
        return self.product(self.operand(0), weight, self.constant(2) if has_bias else None)

    def matmul(self, _: Instruction) -> Located:
        return self.product(self.operand(0), self.constant(1).t(), None)

    mm = matmul

    def product(self, x: Located, weight: torch.Tensor, bias: torch.Tensor | None) -> Located:
        found = x.rows_and_columns()
        if found is None or not every_row_once(found[0], self.jets, x.node):
            self.refuse("it reads a part of the rows, or rows of mixed columns",
                        "let it read every particle, or pool over them first")  # fmt: skip
        rows, columns = found
        node, weight = x.node, weight.detach().float()
        if not torch.equal(columns, torch.arange(node.columns)):
            scattered = weight.new_zeros(len(weight), node.columns)
            weight = scattered.index_add(1, columns, weight)
        bias = None if bias is None else bias.detach().float()
        if isinstance(node, Affine):
            moved = weight @ node.offset
            bias = moved if bias is None else bias + moved
            weight, before = weight * node.gain, node.sources[0]
        else:
            before = node
        made = Linear(
            name=self.name("linear"), rows=node.rows, columns=len(weight), sources=(before,),
            weight=weight, bias=bias,
        )  # fmt: skip
        return self.by_rows(made, rows)

    def attention(self, instruction: Instruction) -> Located:
        attributes = instruction.attributes
        banded = attributes.get("left") is not None or attributes.get("right") is not None
        if banded or len(instruction.operands) > 3:
            self.refuse("it hides keys from queries, and the integer kernel has no mask",
                        "let every particle see every other one")  # fmt: skip
        q, k, v = (self.operand(i) for i in range(3))
        self.refuse_affine(q, k, v)
        heads, size = q.index.shape[1], q.index.shape[3]
        sources = []
        for word, value in (("query", q), ("key", k), ("value", v)):
            columns = by_heads(value, self.jets)
            if columns is None or value.node.rows != q.node.rows or columns.shape[1] != size:
                self.refuse("queries, keys and values are not [jets, heads, particles, size] of "
                            "one layer each", "split heads with view or unflatten, then transpose "
                            "particles and heads")  # fmt: skip
            shared = columns.repeat_interleave(heads // len(columns), 0).flatten()
            sources.append(self.columns(value.node, shared, word))
        node = Attention(
            name=self.name("attention"), rows=q.node.rows, columns=heads * size,
            sources=tuple(sources), heads=heads, scale=float(cast(float, attributes["scale"])),
        )  # fmt: skip
        index = torch.arange(self.jets * node.rows * node.columns)
        return Located(node, index.view(self.jets, node.rows, heads, size).transpose(1, 2))

    def columns(self, node: Node, columns: torch.Tensor, word: str) -> Node:
        """The node, or a linear layer of some of its columns, named after what they are."""
        if torch.equal(columns, torch.arange(node.columns)):
            return node
        if not isinstance(node, Linear):
            self.refuse(f"it reads a part of the columns of {node.name}",
                        "let a linear layer make queries, keys and values")  # fmt: skip
        key = (id(node), tuple(columns.tolist()))
        if key not in self.slices:
            self.slices[key] = Linear(
                name=self.unique(f"{node.name}_{word}"), rows=node.rows, columns=len(columns),
                sources=node.sources, weight=node.weight[columns],
                bias=None if node.bias is None else node.bias[columns], relu=node.relu,
            )  # fmt: skip
        return self.slices[key]

    def add(self, instruction: Instruction) -> Located:
        if instruction.attributes.get("alpha", 1) != 1:
            self.refuse("it has a factor alpha", "scale a weight instead")
        if not all(isinstance(operand, Reg) for operand in instruction.operands):
            self.refuse("it adds a constant to every jet", "put it into the bias of a linear layer")
        a, b = self.operand(0), self.operand(1)
        if not torch.equal(a.index, b.index) or not a.is_whole(self.jets):
            self.refuse("its two operands are not the same rows and columns of two layers",
                        "add matrices of one shape, without broadcasting")  # fmt: skip
        self.refuse_affine(a, b)
        node = Add(name=self.name("add"), rows=a.node.rows, columns=a.node.columns,
                   sources=(a.node, b.node))  # fmt: skip
        return Located(node, a.index)

    def relu(self, _: Instruction) -> Located:
        x = self.operand(0)
        self.refuse_affine(x)
        return Located(self.alike(Relu, "relu", x.node), x.index)

    def softmax(self, instruction: Instruction) -> Located:
        x = self.operand(0)
        self.refuse_affine(x)
        axis = int(cast(int, instruction.attributes["dim"])) % x.index.dim()
        found = x.rows_and_columns()
        if axis != x.index.dim() - 1 or found is None or not x.is_whole(self.jets):
            self.refuse("it is not over all columns of its rows", "softmax(-1) of a whole matrix")
        return Located(self.alike(Softmax, "softmax", x.node), x.index)

    def mean(self, instruction: Instruction) -> Located:
        return self.pool(instruction, "mean")

    def amax(self, instruction: Instruction) -> Located:
        return self.pool(instruction, "max")

    def max(self, instruction: Instruction) -> Located:
        return self.pool(instruction, "max")

    def pool(self, instruction: Instruction, kind: str) -> Located:
        x = self.operand(0)
        self.refuse_affine(x)
        given = instruction.attributes.get("dim")
        given = () if given is None else given if isinstance(given, tuple) else (given,)
        axes = [int(cast(int, axis)) % x.index.dim() for axis in given]
        width, rows = x.node.columns, x.node.rows
        low, high = x.index.amin(axes, keepdim=True), x.index.amax(axes, keepdim=True)
        size = math.prod(x.index.shape[axis] for axis in axes)
        jets = low // width // rows
        spread = x.index - low
        whole = (
            bool(axes) and size == rows and bool((high - low == (rows - 1) * width).all())
            and bool((spread % width == 0).all()) and x.is_whole(self.jets)
            and bool((low // width % rows == 0).all())
        )  # fmt: skip
        if not whole:
            self.refuse("it is not over all particles of a jet and nothing else",
                        "pool over the axis of particles alone")  # fmt: skip
        node = Pool(name=self.name("pool"), rows=1, columns=width, sources=(x.node,), kind=kind)
        index = jets * width + low % width
        if not instruction.attributes.get("keepdim", False):
            index = index.squeeze(axes)
        return Located(node, index)

    def batch_norm(self, instruction: Instruction) -> Located:
        if instruction.attributes.get("training"):
            self.refuse("it is in training", "call module.eval() before compiling")
        x, axis = self.operand(0), 1
        gain, offset, mean, variance = (self.maybe_constant(i) for i in range(1, 5))
        if mean is None or variance is None:
            self.refuse("it keeps no statistics", "track_running_stats=True")
        eps = float(cast(float, instruction.attributes.get("eps", 1e-5)))
        scale = (variance.double() + eps).rsqrt() * (1.0 if gain is None else gain.double())
        shift = (0.0 if offset is None else offset.double()) - mean.double() * scale
        channel = (x.index % x.node.columns).movedim(axis, 0).flatten(1)
        if not torch.equal(channel, torch.arange(x.node.columns)[:, None].expand_as(channel)):
            self.refuse(
                "its channels are not the columns of the layer before it",
                "normalise the features, axis 1 of [jets, features, particles]",
            )
        return Located(self.affine(x.node, scale, shift, "BatchNorm"), x.index)

    def mul(self, instruction: Instruction) -> Located:
        return self.scaled(instruction, lambda factor: factor)

    def div(self, instruction: Instruction) -> Located:
        return self.scaled(instruction, lambda divisor: 1 / divisor)

    def scaled(self, instruction: Instruction, gain: Callable[[float], float]) -> Located:
        x = self.operand(0)
        number = instruction.operands[1] if len(instruction.operands) > 1 else None
        if isinstance(number, Const) and self.constant(1).numel() == 1:
            number = float(self.constant(1))
        if not isinstance(number, int | float) or instruction.attributes.get("rounding_mode"):
            self.refuse("it is no product with one number", "multiply by numbers alone")
        width = x.node.columns
        scale = torch.full((width,), gain(float(number)), dtype=torch.float64)
        return Located(self.affine(x.node, scale, torch.zeros_like(scale), "a factor"), x.index)

    def affine(self, node: Node, gain: torch.Tensor, offset: torch.Tensor, what: str) -> Node:
        """The linear layer before with the factors in it, or a node that waits for the next."""
        if isinstance(node, Affine):
            gain, offset = gain * node.gain, offset + gain * node.offset
            node = node.sources[0]
        gain, offset = gain.float(), offset.float()
        if isinstance(node, Linear) and not node.relu:
            bias = offset if node.bias is None else node.bias * gain + offset
            return Linear(
                name=self.name("linear", of=node), rows=node.rows, columns=node.columns,
                sources=node.sources, weight=node.weight * gain[:, None], bias=bias,
            )  # fmt: skip
        return Affine(
            name=self.name("affine"), rows=node.rows, columns=node.columns, sources=(node,),
            gain=gain, offset=offset, what=what,
        )  # fmt: skip

    def alike(self, kind: type[Relu] | type[Softmax], word: str, node: Node) -> Node:
        return kind(name=self.name(word), rows=node.rows, columns=node.columns, sources=(node,))

    def by_rows(self, node: Node, rows: torch.Tensor) -> Located:
        return Located(node, rows[..., None] * node.columns + torch.arange(node.columns))

    def refuse_affine(self, *values: Located) -> None:
        for value in values:
            if isinstance(value.node, Affine):
                self.refuse(f"{value.node.what} comes before it, and is part of no linear layer",
                            "put it behind or in front of a linear layer")  # fmt: skip

    def operand(self, position: int) -> Located:
        value = self.instruction.operands[position]
        if isinstance(value, Reg):
            return self.values[value]
        self.refuse("it reads a constant where a layer's result is expected", "swap its operands")

    def constant(self, position: int) -> torch.Tensor:
        found = self.maybe_constant(position)
        if found is None:
            self.refuse("it multiplies two results of layers", "write it as attention")
        return found

    def maybe_constant(self, position: int) -> torch.Tensor | None:
        operands: Sequence[Operand] = self.instruction.operands
        value = operands[position] if position < len(operands) else None
        return self.tensors[value.name] if isinstance(value, Const) else None

    def name(self, word: str, of: Node | None = None) -> str:
        """A C++ identifier from the module's path, and from the operator unless it is linear."""
        if of is not None and of.name in self.names:
            self.names.discard(of.name)
            return self.unique(of.name)
        place = self.instruction.location
        path = place.module if place else ""
        for operand in self.instruction.operands[1:2]:
            if word == "linear" and isinstance(operand, Const):
                path = operand.name.removesuffix("weight") or path  # of torch.nn.Linear's module
        path = re.sub(r"\W+", "_", path).strip("_")
        plain = word == "linear" and path
        return self.unique(path if plain else f"{path}_{word}" if path else word)

    def unique(self, name: str) -> str:
        name = f"layer_{name}" if name[:1].isdigit() else name
        found, number = name, 1
        while found in self.names:
            number += 1
            found = f"{name}_{number}"
        self.names.add(found)
        return found

    def refuse(self, why: str, fix: str) -> NoReturn:
        opcode = self.instruction.opcode
        raise UnsupportedOperatorError(
            f"target 'aie' cannot run {opcode}", where=str(self.instruction.location or ""),
            why=why, fix=fix,
        )  # fmt: skip
