"""Ranges of every layer's results over the calibration data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from forge_ugc.backends.aie.quantizer.graph import (
    Add,
    Attention,
    Input,
    Linear,
    Node,
    Pool,
    Relu,
    evaluated,
    ordered,
    split_heads,
)
from forge_ugc.errors import QuantizationError
from forge_ugc.quantization.calibration import LARGEST, Observer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """Steps by node: of its results, and of the scores of every head."""

    steps: dict[int, float]
    score_steps: dict[int, tuple[float, ...]]


def with_relu(outputs: Sequence[Node]) -> list[Node]:
    """The graph with every ReLU in the layer before it, where nothing else reads that layer."""
    readers: dict[int, int] = {id(node): 1 for node in outputs}
    for node in ordered(outputs):
        for source in node.sources:
            readers[id(source)] = readers.get(id(source), 0) + 1
    made: dict[int, Node] = {}
    for node in ordered(outputs):
        sources = tuple(made[id(source)] for source in node.sources)
        before = node.sources[0] if isinstance(node, Relu) else None
        if isinstance(before, Linear | Add | Pool) and readers[id(before)] == 1:
            made[id(node)] = replace(_as_relu(before), sources=sources[0].sources)
        else:
            made[id(node)] = replace(node, sources=sources) if node.sources else node
    return [made[id(node)] for node in outputs]


def _as_relu(node: Linear | Add | Pool) -> Linear | Add | Pool:
    return replace(node, relu=True)


def measure(
    outputs: Sequence[Node], batches: Sequence[torch.Tensor], jets: int, method: str,
    percentile: float,
) -> Ranges:  # fmt: skip
    """Run the layers in floating point on batches, f32[jets * rows, columns] each.

    Scores of attention take their largest magnitude whatever the method: softmax depends on the
    largest scores alone.

    Raises:
        QuantizationError: a value is not finite; names the layer.
    """
    nodes = ordered(outputs)
    seen = {id(node): Observer(method=method, percentile=percentile) for node in nodes}
    scores = {
        id(node): [Observer() for _ in range(node.heads)]
        for node in nodes
        if isinstance(node, Attention)
    }
    for batch in batches:
        for node, value, sources in evaluated(outputs, batch, jets):
            seen[id(node)].observe(value)
            if isinstance(node, Attention):
                q, k = (split_heads(x, jets, node.heads) for x in sources[:2])
                for head, observer in enumerate(scores[id(node)]):
                    observer.observe(node.scores(q[:, head : head + 1], k[:, head : head + 1]))
    return Ranges(
        steps={id(node): _step(seen[id(node)], node) for node in nodes},
        score_steps={
            key: tuple(observer.amplitude() / LARGEST for observer in observers)
            for key, observers in scores.items()
        },
    )


def _step(observer: Observer, node: Node) -> float:
    try:
        return observer.amplitude() / LARGEST
    except QuantizationError as error:
        where = "the calibration batches" if isinstance(node, Input) else f"layer {node.name}"
        raise QuantizationError(error.what, where=where, why=error.why, fix=error.fix) from None
