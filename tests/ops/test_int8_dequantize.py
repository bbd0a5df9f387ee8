"""Integers as the numbers that they stand for."""

import pytest
import torch

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.int8_dequantize import Int8Dequantize

load_all()


def test_it_is_the_inverse_of_quantising():
    q = torch.arange(-128, 128).to(torch.int8)
    x = torch.ops.forge.int8_dequantize(q, step=0.1)
    assert torch.equal(x, (q.double() * 0.1).float())
    assert torch.equal(torch.ops.forge.int8_quantize(x, step=0.1), q)


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.int8_dequantize.default, (torch.zeros(5, 8, dtype=torch.int8).t(),),
        {"step": 0.1}, test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "step", "message"),
    [
        (DType.F32, 1.0, "q must be i8 with 0 axes or more, is f32[3]"),
        (DType.I8, -1.0, "step is -1.0, expected above 0"),
    ],
)
def test_type_rule_refuses(dtype, step, message):
    with pytest.raises(VerificationError) as error:
        Int8Dequantize(step=step).infer(TensorType.of(dtype, (3,)))
    assert str(error.value) == message


def test_cost_counts_what_is_read_and_written():
    cost = Int8Dequantize(step=1.0).cost(TensorType.of(DType.I8, (3,)))
    assert (cost.flops, cost.bytes_moved) == (3, 15)
