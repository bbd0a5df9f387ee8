"""The layers of a float program: matrices of rows, and what is computed from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """A matrix f32[jets * rows, columns]; `sources` are the nodes that it is computed from."""

    name: str
    rows: int
    columns: int
    sources: tuple[Node, ...] = ()

    def eval(self, inputs: Sequence[torch.Tensor], jets: int) -> torch.Tensor:
        """The matrix from those of the sources, in f32."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Input(Node):
    """What the model is given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linear(Node):
    """x @ weight.T + bias, then ReLU if asked for."""

    weight: torch.Tensor
    bias: torch.Tensor | None = None
    relu: bool = False

    def eval(self, inputs: Sequence[torch.Tensor], jets: int) -> torch.Tensor:
        return _rectified(F.linear(inputs[0], self.weight, self.bias), self.relu)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Affine(Node):
    """x * gain + offset by columns: waits for a linear layer that it can become part of.

    Attributes:
        what: the operator that it came from, for messages.
    """

    gain: torch.Tensor
    offset: torch.Tensor
    what: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attention(Node):
    """softmax(scale * q @ k.T) @ v by heads; sources are q, k and v."""

    heads: int
    scale: float

    def eval(self, inputs: Sequence[torch.Tensor], jets: int) -> torch.Tensor:
        q, k, v = (split_heads(x, jets, self.heads) for x in inputs)
        mixed = (self.scores(q, k).softmax(-1) @ v).transpose(1, 2)
        return mixed.reshape(jets * self.rows, self.columns)

    def scores(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        """f32[jets, heads, rows, rows] from two f32[jets, heads, rows, size]."""
        return q @ k.transpose(-1, -2) * self.scale


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Add(Node):
    """The sum of two matrices."""

    relu: bool = False

    def eval(self, inputs: Sequence[torch.Tensor], jets: int) -> torch.Tensor:
        return _rectified(inputs[0] + inputs[1], self.relu)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relu(Node):
    """max(x, 0)."""

    def eval(self, inputs: Sequence[torch.Tensor], jets: int) -> torch.Tensor:
        return torch.relu(inputs[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool(Node):
    """Mean or maximum over the rows of each jet: one row."""

    kind: str
    relu: bool = False

    def eval(self, inputs: Sequence[torch.Tensor], jets: int) -> torch.Tensor:
        x = inputs[0].view(jets, -1, self.columns)
        return _rectified(x.mean(1) if self.kind == "mean" else x.amax(1), self.relu)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Softmax(Node):
    """Softmax over the columns."""

    def eval(self, inputs: Sequence[torch.Tensor], jets: int) -> torch.Tensor:
        return inputs[0].softmax(-1)


def _rectified(x: torch.Tensor, relu: bool) -> torch.Tensor:
    return torch.relu(x) if relu else x


def split_heads(x: torch.Tensor, jets: int, heads: int) -> torch.Tensor:
    """f32[jets, heads, rows, size] of f32[jets * rows, heads * size]."""
    return x.view(jets, -1, heads, x.shape[-1] // heads).transpose(1, 2)


def ordered(outputs: Sequence[Node]) -> list[Node]:
    """Every node that the outputs depend on, sources first."""
    found: list[Node] = []
    known: set[int] = set()

    def visit(node: Node) -> None:
        if id(node) in known:
            return
        known.add(id(node))
        for source in node.sources:
            visit(source)
        found.append(node)

    for node in outputs:
        visit(node)
    return found


def evaluated(
    outputs: Sequence[Node], x: torch.Tensor, jets: int
) -> Iterator[tuple[Node, torch.Tensor, tuple[torch.Tensor, ...]]]:
    """(node, its matrix, those of its sources) for the input matrix f32[jets * rows, columns]."""
    values: dict[int, torch.Tensor] = {}
    for node in ordered(outputs):
        sources = tuple(values[id(source)] for source in node.sources)
        values[id(node)] = x if isinstance(node, Input) else node.eval(sources, jets)
        yield node, values[id(node)], sources
