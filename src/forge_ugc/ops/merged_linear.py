"""Several linear layers over one input."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.matmul import linear_cost, linear_type
from forge_ugc.ops.core.op import Cost, Op, op, require


@op("merged_linear")
class MergedLinear(Op):
    """y_i = x @ weights[i].T + biases[i], one result per weight.

    x: f64|f32|bf16|f16[..., in] in any layout, weights[i]: [out_i, in], biases[i]: [out_i] or none,
    y_i: [..., out_i] row-major; all of one dtype. The weights stay separate constants: a backend
    concatenates them when it packs them.
    """

    def infer(
        self, x: TensorType, weights: Sequence[TensorType], biases: Sequence[TensorType | None]
    ) -> tuple[TensorType, ...]:
        require(len(weights) >= 1, "there is no weight")
        require(len(weights) == len(biases), f"{len(weights)} weights but {len(biases)} biases")
        return tuple(linear_type(x, w, b) for w, b in zip(weights, biases, strict=True))

    def eval(
        self,
        x: torch.Tensor,
        weights: Sequence[torch.Tensor],
        biases: Sequence[torch.Tensor | None],
    ) -> tuple[torch.Tensor, ...]:
        return tuple(F.linear(x, w, b) for w, b in zip(weights, biases, strict=True))

    def cost(
        self, x: TensorType, weights: Sequence[TensorType], biases: Sequence[TensorType | None]
    ) -> Cost:
        parts = [linear_cost(x, w, b) for w, b in zip(weights, biases, strict=True)]
        again = (len(parts) - 1) * x.size_bytes  # x is read once
        return Cost(sum(p.flops for p in parts), sum(p.bytes_moved for p in parts) - again)
