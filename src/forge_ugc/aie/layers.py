"""Layers of an `AIEModel`: their parameters, shapes, and the operators that they become."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from forge_ugc.errors import OptionError, QuantizationError
from forge_ugc.quantization.attention_factors import AttentionPlan, per_head
from forge_ugc.quantization.builder import Builder, Value
from forge_ugc.quantization.dyadic import dyadic

Matrix = torch.Tensor | np.ndarray[tuple[int, ...], np.dtype[np.generic]] | Sequence[Sequence[int]]
Vector = torch.Tensor | np.ndarray[tuple[int, ...], np.dtype[np.generic]] | Sequence[int]
Shape = tuple[int, int]
SOFTMAX = ("none", "table", "polynomial")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layer(ABC):
    """One layer. Scales are factors from exact sums to 8-bit results; None measures them.

    Attributes:
        name: a C++ identifier; by default the kind and a number.
    """

    name: str = ""
    kind: ClassVar[str] = "layer"
    arity: ClassVar[int] = 1

    @abstractmethod
    def shape(self, inputs: Sequence[Shape]) -> Shape:
        """(rows, columns) of the result.

        Raises:
            OptionError: the inputs do not fit; says why without naming the layer.
        """

    @abstractmethod
    def build(self, builder: Builder, inputs: Sequence[Value], relu: bool) -> Value:
        """Append the layer's operators. `relu`: a ReLU follows at once and is to be part of it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dense(Layer):
    """y = requantise(x @ weight.T + bias), then ReLU if asked for.

    Attributes:
        weight: i8[features, columns of the input].
        bias: i32[features] in steps of the sum, or None.
        scale: the factor of the requantisation; None measures it: 127 over the largest sum.
        weight_step: the real number that one step of a weight stands for.
    """

    weight: Matrix
    bias: Vector | None = None
    relu: bool = False
    scale: float | None = None
    weight_step: float = 1.0
    kind: ClassVar[str] = "dense"

    def shape(self, inputs: Sequence[Shape]) -> Shape:
        rows, columns = inputs[0]
        weight = integers(self.weight, "weight", torch.int8, (None, columns))
        if self.bias is not None:
            integers(self.bias, "bias", torch.int32, (weight.shape[0],))
        return rows, weight.shape[0]

    def build(self, builder: Builder, inputs: Sequence[Value], relu: bool) -> Value:
        return project(
            builder, inputs[0], self.weight, self.bias, self.weight_step, self.scale,
            relu=relu or self.relu,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MHA(Layer):
    """Multi-head attention of a layer's rows with themselves, and the output projection.

    Heads may be any divisor of the projections' features. Scores are q @ k.T / sqrt(size of a head)
    in real numbers. The steps of q and k, and so of the scores, come from the input's step and
    `weight_step`; `score_step` sets them instead.

    Attributes:
        query, key, value: i8[d, columns of the input]; output: i8[features, d].
        query_bias, key_bias, value_bias, output_bias: i32, or None.
        softmax: "none", "table" or "polynomial".
        score_step: what one step of an 8-bit score stands for in the exponential; one number or one
            a head.
        query_scale, key_scale, value_scale, output_scale: factors of the projections.
        score_scale: from q @ k.T to 8-bit scores; context_scale: from s @ v without softmax, from
            the weighted mean of v with it; one number or one a head.
        relu: of the output projection.
    """

    heads: int
    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix
    query_bias: Vector | None = None
    key_bias: Vector | None = None
    value_bias: Vector | None = None
    output_bias: Vector | None = None
    softmax: str = "polynomial"
    score_step: float | Sequence[float] | None = None
    query_scale: float | None = None
    key_scale: float | None = None
    value_scale: float | None = None
    score_scale: float | Sequence[float] | None = None
    context_scale: float | Sequence[float] | None = None
    output_scale: float | None = None
    weight_step: float = 1.0
    relu: bool = False
    kind: ClassVar[str] = "mha"

    def shape(self, inputs: Sequence[Shape]) -> Shape:
        rows, columns = inputs[0]
        if self.softmax not in SOFTMAX:
            raise OptionError(f"softmax is {self.softmax!r}", fix=f"one of {', '.join(SOFTMAX)}")
        width = integers(self.query, "query", torch.int8, (None, columns)).shape[0]
        integers(self.key, "key", torch.int8, (width, columns))
        integers(self.value, "value", torch.int8, (width, columns))
        features = integers(self.output, "output", torch.int8, (None, width)).shape[0]
        for part, bias in (("query", self.query_bias), ("key", self.key_bias),
                           ("value", self.value_bias)):  # fmt: skip
            if bias is not None:
                integers(bias, f"{part}_bias", torch.int32, (width,))
        if self.output_bias is not None:
            integers(self.output_bias, "output_bias", torch.int32, (features,))
        if self.heads < 1 or width % self.heads:
            divisors = [h for h in range(1, width + 1) if width % h == 0]
            raise OptionError(
                f"{width} features cannot be shared out among {self.heads} heads",
                fix=f"heads may be {', '.join(map(str, divisors))}",
            )
        return rows, features

    def build(self, builder: Builder, inputs: Sequence[Value], relu: bool) -> Value:
        x, step = inputs[0], self.weight_step
        q, k, v = (
            project(builder, x, weight, bias, step, scale, part=part)
            for part, weight, bias, scale in (
                ("query", self.query, self.query_bias, self.query_scale),
                ("key", self.key, self.key_bias, self.key_scale),
                ("value", self.value, self.value_bias, self.value_scale),
            )
        )
        scores = per_head(self.score_scale, self.heads)
        plan = AttentionPlan(
            heads=self.heads, softmax=self.softmax,
            scale=1 / math.sqrt(q.type.shape[-1] // self.heads),
            score=None if scores is None else tuple(map(dyadic, scores)),
            score_steps=per_head(self.score_step, self.heads),
            context=per_head(self.context_scale, self.heads),
        )  # fmt: skip
        mixed = builder.attention(q, k, v, plan)
        return project(
            builder, mixed, self.output, self.output_bias, step, self.output_scale,
            relu=relu or self.relu, part="output",
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResAdd(Layer):
    """The sum of two branches, each brought from its own step to that of the result.

    Attributes:
        scales: factors of the first and the second branch; None takes them from the steps of the
            branches and the largest sum.
    """

    scales: tuple[float, float] | None = None
    relu: bool = False
    kind: ClassVar[str] = "add"
    arity: ClassVar[int] = 2

    def shape(self, inputs: Sequence[Shape]) -> Shape:
        if inputs[0] != inputs[1]:
            raise OptionError(f"the branches are {_text(inputs[0])} and {_text(inputs[1])}")
        return inputs[0]

    def build(self, builder: Builder, inputs: Sequence[Value], relu: bool) -> Value:
        factors = None
        if self.scales is not None:
            factors = (dyadic(self.scales[0]), dyadic(self.scales[1]))
        return builder.add(inputs[0], inputs[1], relu=relu or self.relu, factors=factors)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Softmax(Layer):
    """Probabilities over the columns of each row: integers of 0 to 127, in steps of 1 / 127.

    Attributes:
        score_step: what one step of the input stands for; None takes the input's own step.
    """

    method: str = "polynomial"
    score_step: float | None = None
    kind: ClassVar[str] = "softmax"

    def shape(self, inputs: Sequence[Shape]) -> Shape:
        if self.method not in SOFTMAX[1:]:
            raise OptionError(f"method is {self.method!r}", fix=f"one of {', '.join(SOFTMAX[1:])}")
        return inputs[0]

    def build(self, builder: Builder, inputs: Sequence[Value], relu: bool) -> Value:
        return builder.softmax(inputs[0], self.method, self.score_step)  # never below 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReLU(Layer):
    """max(x, 0); part of the layer before it where nothing else reads that layer."""

    kind: ClassVar[str] = "relu"

    def shape(self, inputs: Sequence[Shape]) -> Shape:
        return inputs[0]

    def build(self, builder: Builder, inputs: Sequence[Value], relu: bool) -> Value:
        return builder.relu(inputs[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool(Layer):
    """Mean or maximum over all rows: one row.

    Attributes:
        reduce: "mean" or "max".
        scale: factor of the sum of the rows, or of the maximum.
    """

    reduce: str = "mean"
    scale: float | None = None
    relu: bool = False
    kind: ClassVar[str] = "pool"

    def shape(self, inputs: Sequence[Shape]) -> Shape:
        if self.reduce not in ("mean", "max"):
            raise OptionError(f"reduce is {self.reduce!r}", fix="one of mean, max")
        return 1, inputs[0][1]

    def build(self, builder: Builder, inputs: Sequence[Value], relu: bool) -> Value:
        factor = None if self.scale is None else dyadic(self.scale)
        return builder.pool(inputs[0], self.reduce, relu=relu or self.relu, factor=factor)


def project(
    builder: Builder, x: Value, weight: Matrix, bias: Vector | None, step: float,
    scale: float | None, *, relu: bool = False, part: str = "",
) -> Value:  # fmt: skip
    """A linear layer of the builder from arrays of integers."""
    return builder.linear(
        x, integers(weight, "weight", torch.int8),
        None if bias is None else integers(bias, "bias", torch.int32), weight_step=step,
        relu=relu, factor=None if scale is None else dyadic(scale), part=part,
    )  # fmt: skip


def integers(
    array: Matrix | Vector, name: str, dtype: torch.dtype, shape: Sequence[int | None] | None = None
) -> torch.Tensor:
    """The array as a tensor of an integer type, without changing a value.

    Args:
        shape: what it must be; None in it allows any size.

    Raises:
        QuantizationError: it holds other numbers than integers that fit.
        OptionError: it has another shape.
    """
    found = array if isinstance(array, torch.Tensor) else torch.from_numpy(np.array(array))
    info, bits = torch.iinfo(dtype), torch.iinfo(dtype).bits
    if found.is_floating_point() or found.is_complex() or found.dtype == torch.bool:
        raise QuantizationError(
            f"{name} holds {str(found.dtype).removeprefix('torch.')}, expected integers",
            fix="quantise it first, or compile the PyTorch module with target='aie'",
        )
    if found.numel() and not (info.min <= int(found.min()) and int(found.max()) <= info.max):
        raise QuantizationError(
            f"{name} reaches from {int(found.min())} to {int(found.max())}, which does not fit "
            f"{bits} bits"
        )
    if shape is not None:
        fits = found.dim() == len(shape) and all(
            want in (None, have) for want, have in zip(shape, found.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if s is None else str(s) for s in shape)
            raise OptionError(f"{name} is {list(found.shape)}, expected [{wanted}]")
    return found.to(dtype).contiguous()


def _text(shape: Shape) -> str:
    return f"{shape[0]} x {shape[1]}"
