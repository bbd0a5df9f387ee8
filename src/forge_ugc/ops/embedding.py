"""Rows of a table by number, with a result of a type of its own."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import Cost, Op, op, require
from forge_ugc.ops.core.result_type import result_type, rounded


@op("embedding")
class Embedding(Op):
    """y[..., :] = table[ids[...], :] * scale[ids[...]], cast to `dtype`.

    table: f32|bf16[V, D], or i8[V, D] with scale: f32[V] and a `dtype`; ids: i64|i32[...];
    y: [..., D] row-major, of the table's type or of the one that `dtype` names. Where both are of
    one type, graphs hold PyTorch's `aten.embedding`.

    Raises:
        IndexError: an id is negative, or V or more.
    """

    dtype: str | None = None

    def infer(
        self, table: TensorType, ids: TensorType, scale: TensorType | None = None
    ) -> TensorType:
        allowed = (DType.F32, DType.BF16) if scale is None else (DType.I8,)
        fits = table.rank == 2 and table.dtype in allowed
        wanted = "f32 or bf16 [rows, size]" if scale is None else "i8 [rows, size] with a scale"
        require(fits, f"the table must be {wanted}, is {table}")
        if scale is not None:
            fits = scale.dtype is DType.F32 and scale.shape == table.shape[:1]
            require(fits, f"scale must be f32 [{table.shape[0]}], is {scale}")
            require(self.dtype is not None, "an i8 table needs a dtype for the result")
        require(ids.dtype in (DType.I64, DType.I32), f"ids must be i64 or i32, are {ids}")
        kind = result_type(self.dtype, table.dtype)
        return TensorType.of(kind, (*ids.shape, table.shape[1]))

    def eval(
        self, table: torch.Tensor, ids: torch.Tensor, scale: torch.Tensor | None = None
    ) -> torch.Tensor:
        y = F.embedding(ids, table)
        if scale is not None:
            y = y.float() * F.embedding(ids, scale[:, None])
        return y if self.dtype is None else rounded(y, self.dtype)

    def cost(self, table: TensorType, ids: TensorType, scale: TensorType | None = None) -> Cost:
        y = self.infer(table, ids, scale)
        read = y.numel * table.dtype.size_bytes
        return Cost(0, ids.size_bytes + read + y.size_bytes)
