"""Quantising with one step."""

import math

import pytest
import torch

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.int8_quantize import Int8Quantize

load_all()


def test_values():
    x = torch.tensor([0.25, 0.75, -0.25, 1.0, 1e9, -1e9, math.nan, math.inf, -math.inf])
    q = torch.ops.forge.int8_quantize(x, step=0.5)
    assert q.tolist() == [0, 2, 0, 2, 127, -128, 0, 127, -128]
    assert q.dtype == torch.int8


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.int8_quantize.default, (torch.randn(5, 8).t(),), {"step": 0.1},
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "step", "message"),
    [
        (DType.F16, 1.0, "x must be f32, is f16[3]"),
        (DType.F32, 0.0, "step is 0.0, expected above 0"),
    ],
)
def test_type_rule_refuses(dtype, step, message):
    with pytest.raises(VerificationError) as error:
        Int8Quantize(step=step).infer(TensorType.of(dtype, (3,)))
    assert str(error.value) == message


def test_cost_counts_what_is_read_and_written():
    cost = Int8Quantize(step=1.0).cost(TensorType.of(DType.F32, (3,)))
    assert (cost.flops, cost.bytes_moved) == (6, 15)
