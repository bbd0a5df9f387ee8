"""Linear layer with its activation, scale and residual addition."""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.activation import activate, require_activation
from forge_ugc.ops.core.matmul import linear_cost, linear_type, product
from forge_ugc.ops.core.op import Cost, Op, op, require
from forge_ugc.ops.core.result_type import rounded


@op("linear")
class Linear(Op):
    """y = scale * activation(x @ w.T + b) + residual.

    x: f64|f32|bf16|f16[..., in] in any layout, w: [out, in], b: [out], residual and y: [..., out];
    y row-major. Without `dtype` all are of one type, and each step rounds to it. With `dtype` y has
    that type, b and residual are f32 or bf16, and all is computed in f32 and rounded once; x and w
    are then f32, bf16, or i8 with x_scale: f32[...] of each row and w_scale: f32[out].
    """

    activation: str = "none"
    scale: float = 1.0
    dtype: str | None = None
    inplace_operands = ("residual",)

    def infer(
        self,
        x: TensorType,
        w: TensorType,
        b: TensorType | None = None,
        residual: TensorType | None = None,
        x_scale: TensorType | None = None,
        w_scale: TensorType | None = None,
    ) -> TensorType:
        require_activation(self.activation)
        y = linear_type(x, w, b, x_scale, w_scale, self.dtype)
        if residual is not None:
            allowed = (y.dtype,) if self.dtype is None else (DType.F32, DType.BF16)
            fits = residual.shape == y.shape and residual.dtype in allowed
            require(fits, f"residual is {residual}, expected the result's {y}")
        return y

    def eval(
        self,
        x: torch.Tensor,
        w: torch.Tensor,
        b: torch.Tensor | None = None,
        residual: torch.Tensor | None = None,
        x_scale: torch.Tensor | None = None,
        w_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        y = activate(self.activation, product(x, w, b, x_scale, w_scale, self.dtype))
        y = y if self.scale == 1.0 else y * self.scale
        y = y if residual is None else residual + y
        return y if self.dtype is None else rounded(y, self.dtype)

    def cost(
        self,
        x: TensorType,
        w: TensorType,
        b: TensorType | None = None,
        residual: TensorType | None = None,
        x_scale: TensorType | None = None,
        w_scale: TensorType | None = None,
    ) -> Cost:
        y = self.infer(x, w, b, residual, x_scale, w_scale)
        base = linear_cost(x, w, b, y)
        steps = (self.activation != "none", self.scale != 1.0, residual is not None)
        read = (kind.size_bytes for kind in (residual, x_scale, w_scale) if kind is not None)
        return Cost(base.flops + y.numel * sum(steps), base.bytes_moved + sum(read))
