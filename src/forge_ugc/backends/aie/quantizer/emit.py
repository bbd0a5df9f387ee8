"""Emits layers with known ranges as int8 operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forge_ugc.backends.aie.quantizer.graph import (
    Add,
    Attention,
    Input,
    Linear,
    Node,
    Pool,
    Relu,
    ordered,
)
from forge_ugc.backends.aie.quantizer.ranges import Ranges
from forge_ugc.errors import ForgeError
from forge_ugc.quantization.attention_factors import AttentionPlan
from forge_ugc.quantization.builder import Builder, Value
from forge_ugc.quantization.calibration import quantized_bias, quantized_weight
from forge_ugc.quantization.dyadic import Dyadic, dyadic


@dataclass(slots=True)
class Emitter:
    """Appends nodes to a builder, each after its sources.

    Attributes:
        softmax: form of the exponential in attention.
        method: of calibration, for weights.
    """

    builder: Builder
    ranges: Ranges
    softmax: str
    method: str

    def emit(self, outputs: Sequence[Node], x: Value) -> dict[int, Value]:
        """The value of every node, by its identity. x: of the input.

        Raises:
            QuantizationError: a factor is out of range; names the layer.
        """
        values: dict[int, Value] = {}
        names: set[str] = set()
        for node in ordered(outputs):
            if isinstance(node, Input):
                values[id(node)] = x
                continue
            self.builder.where = name = _unique(node.name, names)
            sources = [values[id(source)] for source in node.sources]
            try:
                values[id(node)] = self.node(node, sources)
            except ForgeError as error:
                where = f"layer {name}"
                raise type(error)(error.what, where=where, why=error.why, fix=error.fix) from None
        return values

    def node(self, node: Node, sources: Sequence[Value]) -> Value:
        x, step = sources[0], self.ranges.steps[id(node)]
        if isinstance(node, Linear):
            return self.linear(node, x, step)
        if isinstance(node, Attention):
            return self.attention(node, sources, step)
        if isinstance(node, Add):
            step = step or max(x.step, sources[1].step)
            factors = (dyadic(x.step / step), dyadic(sources[1].step / step))
            return self.builder.add(x, sources[1], relu=node.relu, factors=factors)
        if isinstance(node, Pool):
            mean = node.kind == "mean"
            scale = x.step / node.sources[0].rows / step if mean and step else 1.0
            return self.builder.pool(x, node.kind, relu=node.relu, factor=dyadic(scale))
        if isinstance(node, Relu):
            return self.builder.relu(x)
        return self.builder.softmax(x, self.softmax, None)

    def linear(self, node: Linear, x: Value, step: float) -> Value:
        weight, weight_step = quantized_weight(node.weight, self.method)
        bias = None if node.bias is None else quantized_bias(node.bias, x.step * weight_step)
        factor = dyadic(x.step * weight_step / step) if step else Dyadic(multiplier=1, shift=0)
        return self.builder.linear(
            x, weight, bias, weight_step=weight_step, relu=node.relu, factor=factor
        )

    def attention(self, node: Attention, sources: Sequence[Value], step: float) -> Value:
        q, k, v = sources
        unit = q.step * k.step * node.scale
        steps = tuple(found or unit for found in self.ranges.score_steps[id(node)])
        plan = AttentionPlan(
            heads=node.heads, softmax=self.softmax, scale=node.scale, score_steps=steps,
            score=tuple(dyadic(unit / score_step) for score_step in steps),
            context=(v.step / (step or v.step),) * node.heads,
        )  # fmt: skip
        return self.builder.attention(q, k, v, plan)


def _unique(name: str, names: set[str]) -> str:
    found, number = name, 1
    while found in names:
        number += 1
        found = f"{name}_{number}"
    names.add(found)
    return found
