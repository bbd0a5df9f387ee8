"""Gated linear unit: an activated gate times a second projection."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.activation import activate, require_activation
from forge_ugc.ops.core.matmul import linear_cost, linear_type
from forge_ugc.ops.core.op import Cost, Op, op, require


@op("gated_linear")
class GatedLinear(Op):
    """y = activation(x @ w_gate.T + b_gate) * (x @ w_up.T + b_up).

    x: f64|f32|bf16|f16[..., in] in any layout, both weights [out, in], both biases [out] or absent,
    y: [..., out] row-major; all of one dtype. SwiGLU with `silu`, GeGLU with `gelu`.
    Source: Shazeer 2020, "GLU Variants Improve Transformer".
    """

    activation: str = "silu"

    def infer(
        self,
        x: TensorType,
        w_gate: TensorType,
        w_up: TensorType,
        b_gate: TensorType | None = None,
        b_up: TensorType | None = None,
    ) -> TensorType:
        require_activation(self.activation)
        require(w_gate.shape == w_up.shape, f"gate weight is {w_gate}, up weight is {w_up}")
        linear_type(x, w_up, b_up)
        return linear_type(x, w_gate, b_gate)

    def eval(
        self,
        x: torch.Tensor,
        w_gate: torch.Tensor,
        w_up: torch.Tensor,
        b_gate: torch.Tensor | None = None,
        b_up: torch.Tensor | None = None,
    ) -> torch.Tensor:
        return activate(self.activation, F.linear(x, w_gate, b_gate)) * F.linear(x, w_up, b_up)

    def cost(
        self,
        x: TensorType,
        w_gate: TensorType,
        w_up: TensorType,
        b_gate: TensorType | None = None,
        b_up: TensorType | None = None,
    ) -> Cost:
        gate, up = linear_cost(x, w_gate, b_gate), linear_cost(x, w_up, b_up)
        y = linear_type(x, w_gate, b_gate)
        once = x.size_bytes + y.size_bytes  # x is read once, one result is written
        return Cost(gate.flops + up.flops + 2 * y.numel, gate.bytes_moved + up.bytes_moved - once)
