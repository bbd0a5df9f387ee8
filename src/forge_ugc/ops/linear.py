"""Linear layer with its activation and residual addition."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.activation import activate, require_activation
from forge_ugc.ops.core.matmul import linear_cost, linear_type
from forge_ugc.ops.core.op import Cost, Op, op, require


@op("linear")
class Linear(Op):
    """y = activation(x @ w.T + b) + residual.

    x: f64|f32|bf16|f16[..., in] in any layout, w: [out, in], b: [out], residual and y: [..., out];
    all of one dtype, y row-major. Each of the three steps rounds to that dtype.
    """

    activation: str = "none"
    inplace_operands = ("residual",)

    def infer(
        self,
        x: TensorType,
        w: TensorType,
        b: TensorType | None = None,
        residual: TensorType | None = None,
    ) -> TensorType:
        require_activation(self.activation)
        y = linear_type(x, w, b)
        if residual is not None:
            fits = residual.shape == y.shape and residual.dtype == y.dtype
            require(fits, f"residual is {residual}, expected the result's {y}")
        return y

    def eval(
        self,
        x: torch.Tensor,
        w: torch.Tensor,
        b: torch.Tensor | None = None,
        residual: torch.Tensor | None = None,
    ) -> torch.Tensor:
        y = activate(self.activation, F.linear(x, w, b))
        return y if residual is None else residual + y

    def cost(
        self,
        x: TensorType,
        w: TensorType,
        b: TensorType | None = None,
        residual: TensorType | None = None,
    ) -> Cost:
        base, y = linear_cost(x, w, b), linear_type(x, w, b)
        extra = y.numel * ((self.activation != "none") + (residual is not None))
        return Cost(base.flops + extra, base.bytes_moved + (residual.size_bytes if residual else 0))
