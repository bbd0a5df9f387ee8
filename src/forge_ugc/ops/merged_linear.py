"""Several linear layers over one input."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.matmul import linear_cost, linear_type, product
from forge_ugc.ops.core.op import Cost, Op, op, require
from forge_ugc.ops.core.result_type import rounded


@op("merged_linear")
class MergedLinear(Op):
    """y_i = x @ weights[i].T + biases[i], one result per weight.

    x: f64|f32|bf16|f16[..., in] in any layout, weights[i]: [out_i, in], biases[i]: [out_i] or none,
    y_i: [..., out_i] row-major. Without `dtype` all are of one type. With `dtype` every y_i has
    that type, biases are f32 or bf16, and all is computed in f32 and rounded once; x and the
    weights are then f32, bf16, or i8 with x_scale: f32[...] of each row and w_scales[i]:
    f32[out_i]. The weights stay separate constants: a backend concatenates them when it packs them.
    """

    dtype: str | None = None

    def infer(
        self,
        x: TensorType,
        weights: Sequence[TensorType],
        biases: Sequence[TensorType | None],
        x_scale: TensorType | None = None,
        w_scales: Sequence[TensorType] | None = None,
    ) -> tuple[TensorType, ...]:
        require(len(weights) >= 1, "there is no weight")
        require(len(weights) == len(biases), f"{len(weights)} weights but {len(biases)} biases")
        scales: Sequence[TensorType | None] = w_scales or [None] * len(weights)
        require(len(weights) == len(scales), f"{len(weights)} weights but {len(scales)} scales")
        return tuple(
            linear_type(x, w, b, x_scale, s, self.dtype)
            for w, b, s in zip(weights, biases, scales, strict=True)
        )

    def eval(
        self,
        x: torch.Tensor,
        weights: Sequence[torch.Tensor],
        biases: Sequence[torch.Tensor | None],
        x_scale: torch.Tensor | None = None,
        w_scales: Sequence[torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, ...]:
        scales: Sequence[torch.Tensor | None] = w_scales or [None] * len(weights)
        results = (
            product(x, w, b, x_scale, s, self.dtype)
            for w, b, s in zip(weights, biases, scales, strict=True)
        )
        return tuple(y if self.dtype is None else rounded(y, self.dtype) for y in results)

    def cost(
        self,
        x: TensorType,
        weights: Sequence[TensorType],
        biases: Sequence[TensorType | None],
        x_scale: TensorType | None = None,
        w_scales: Sequence[TensorType] | None = None,
    ) -> Cost:
        results = self.infer(x, weights, biases, x_scale, w_scales)
        rows = zip(weights, biases, results, strict=True)
        parts = [linear_cost(x, w, b, y) for w, b, y in rows]
        again = (len(parts) - 1) * x.size_bytes  # x is read once
        scales = sum(kind.size_bytes for kind in (x_scale, *(w_scales or ())) if kind is not None)
        moved = sum(p.bytes_moved for p in parts) - again + scales
        return Cost(sum(p.flops for p in parts), moved)
