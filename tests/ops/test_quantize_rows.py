"""Symmetric int8 quantisation of rows."""

import math

import pytest
import torch

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.quantize_rows import QuantizeRows

load_all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_value_differs_by_half_a_step_at_most(dtype):
    x = (30 * torch.randn(3, 5, 64, generator=torch.Generator().manual_seed(0))).to(dtype)
    q, scale = torch.ops.forge.quantize_rows(x)
    assert (q.dtype, q.shape, scale.shape) == (torch.int8, x.shape, x.shape[:-1])
    assert torch.equal(q.abs().amax(-1), torch.full((3, 5), 127, dtype=torch.int8))
    error = (q.double() * scale[..., None].double() - x.double()).abs()
    # Half a step, and the rounding of 127 / max and of the product in f32.
    assert (error <= scale[..., None].double() * (0.5 + 127 * 2.0**-22)).all()


def test_halves_go_to_the_even_neighbour():
    x = torch.tensor([[127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -127.0]])
    q, scale = torch.ops.forge.quantize_rows(x)
    assert q.tolist() == [[127, 0, 2, 2, 0, -2, -127]]
    assert scale.tolist() == [1.0]


def test_rows_of_zeros_and_rows_without_a_number():
    x = torch.tensor([[0.0, -0.0], [1e-45, 0.0], [1.0, math.nan], [math.inf, 1.0]])
    q, scale = torch.ops.forge.quantize_rows(x)
    assert q.tolist() == [[0, 0]] * 4
    assert scale[:2].tolist() == [0.0, 0.0]
    assert scale[2:].isnan().all()
    product = torch.ops.forge.linear(
        q, torch.ones(1, 2, dtype=torch.int8), None, None, scale, torch.ones(1), dtype="f32"
    )
    assert product[:2].tolist() == [[0.0], [0.0]]
    assert product[2:].isnan().all()


def test_rows_without_elements():
    q, scale = torch.ops.forge.quantize_rows(torch.randn(3, 0))
    assert q.shape == (3, 0)
    assert scale.tolist() == [0.0, 0.0, 0.0]


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.quantize_rows.default, (torch.randn(5, 2, 8).transpose(0, 1),),
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


def test_type_rule_refuses_other_types():
    with pytest.raises(VerificationError) as error:
        QuantizeRows().infer(TensorType.of(DType.F16, (2, 3)))
    assert str(error.value) == "x must be f32 or bf16 with a last axis, is f16[2,3]"


def test_cost_counts_what_is_read_and_written():
    cost = QuantizeRows().cost(TensorType.of(DType.F32, (2, 3)))
    assert (cost.flops, cost.bytes_moved) == (18, 24 + 6 + 8)
