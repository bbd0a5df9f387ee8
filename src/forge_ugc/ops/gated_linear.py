"""Gated linear unit: an activated gate times a second projection."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.activation import activate, require_activation
from forge_ugc.ops.core.matmul import linear_cost, linear_type, product
from forge_ugc.ops.core.op import Cost, Op, op, require
from forge_ugc.ops.core.result_type import rounded


@op("gated_linear")
class GatedLinear(Op):
    """y = activation(x @ w_gate.T + b_gate) * (x @ w_up.T + b_up).

    x: f64|f32|bf16|f16[..., in] in any layout, both weights [out, in], both biases [out] or absent,
    y: [..., out] row-major. Without `dtype` all are of one type, and each step rounds to it. With
    `dtype` y has that type, the biases are f32 or bf16, and all is computed in f32 and rounded
    once; x and both weights are then f32, bf16, or i8 with x_scale: f32[...] of each row,
    gate_scale and up_scale: f32[out]. SwiGLU with `silu`, GeGLU with `gelu`.
    Source: Shazeer 2020, "GLU Variants Improve Transformer".
    """

    activation: str = "silu"
    dtype: str | None = None

    def infer(
        self,
        x: TensorType,
        w_gate: TensorType,
        w_up: TensorType,
        b_gate: TensorType | None = None,
        b_up: TensorType | None = None,
        x_scale: TensorType | None = None,
        gate_scale: TensorType | None = None,
        up_scale: TensorType | None = None,
    ) -> TensorType:
        require_activation(self.activation)
        require(w_gate.shape == w_up.shape, f"gate weight is {w_gate}, up weight is {w_up}")
        linear_type(x, w_up, b_up, x_scale, up_scale, self.dtype)
        return linear_type(x, w_gate, b_gate, x_scale, gate_scale, self.dtype)

    def eval(
        self,
        x: torch.Tensor,
        w_gate: torch.Tensor,
        w_up: torch.Tensor,
        b_gate: torch.Tensor | None = None,
        b_up: torch.Tensor | None = None,
        x_scale: torch.Tensor | None = None,
        gate_scale: torch.Tensor | None = None,
        up_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        gate = product(x, w_gate, b_gate, x_scale, gate_scale, self.dtype)
        up = product(x, w_up, b_up, x_scale, up_scale, self.dtype)
        y = activate(self.activation, gate) * up
        return y if self.dtype is None else rounded(y, self.dtype)

    def cost(
        self,
        x: TensorType,
        w_gate: TensorType,
        w_up: TensorType,
        b_gate: TensorType | None = None,
        b_up: TensorType | None = None,
        x_scale: TensorType | None = None,
        gate_scale: TensorType | None = None,
        up_scale: TensorType | None = None,
    ) -> Cost:
        y = linear_type(x, w_gate, b_gate, x_scale, gate_scale, self.dtype)
        gate, up = linear_cost(x, w_gate, b_gate, y), linear_cost(x, w_up, b_up, y)
        scales = (kind for kind in (x_scale, gate_scale, up_scale) if kind is not None)
        # x is read once, one result is written
        moved = gate.bytes_moved + up.bytes_moved - x.size_bytes - y.size_bytes
        return Cost(
            gate.flops + up.flops + 2 * y.numel, moved + sum(kind.size_bytes for kind in scales)
        )
