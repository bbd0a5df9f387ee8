"""A chain of elementwise operators in one."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.expression import calls, evaluate, parse
from forge_ugc.ops.core.op import Cost, Op, op
from forge_ugc.ops.core.torch_types import empty, type_of


@op("elementwise")
class Elementwise(Op):
    """y = code(a, b, ...): an expression over the operands, for example `add(a, mul(b, 0.246))`.

    operands: one to eight tensors of any dtypes, which broadcast together as PyTorch broadcasts
    them step by step; `ops/core/functions.py` lists the functions, `ops/core/expression.py` has the
    grammar. Every step has the type, and rounds to it, that PyTorch gives it; changes of type are
    calls (`bf16(...)`).
    """

    code: str
    inplace_operands = ("operands",)

    def infer(self, operands: Sequence[TensorType]) -> TensorType:
        expression = parse(self.code, len(operands))
        kind = type_of(evaluate(expression, [empty(o, "meta") for o in operands]))
        return kind if kind.is_dense else kind.contiguous()

    def eval(self, operands: Sequence[torch.Tensor]) -> torch.Tensor:
        return evaluate(parse(self.code, len(operands)), operands)

    def cost(self, operands: Sequence[TensorType]) -> Cost:
        y = self.infer(operands)
        flops = y.numel * calls(parse(self.code, len(operands)))
        return Cost(flops, y.size_bytes + sum(o.size_bytes for o in operands))
