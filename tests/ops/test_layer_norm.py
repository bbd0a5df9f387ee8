"""Layer normalisation with a result of its own type."""

import pytest
import torch
import torch.nn.functional as F

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.layer_norm import LayerNorm


def f32(*shape):
    return TensorType.of(DType.F32, shape)


def test_the_result_is_that_of_f32_rounded_once():
    x, w, b = torch.randn(3, 5, 64), torch.randn(64), torch.randn(64)
    want = F.layer_norm(x, (64,), w, b, 1e-5)
    assert torch.equal(torch.ops.forge.layer_norm(x, w, b), want)
    got = torch.ops.forge.layer_norm(x, w, b, dtype="bf16")
    assert torch.equal(got, want.bfloat16())
    assert torch.equal(torch.ops.forge.layer_norm(x), F.layer_norm(x, (64,)))


def test_a_bf16_input_may_have_an_f32_result():
    x = torch.randn(3, 64).bfloat16()
    assert torch.equal(torch.ops.forge.layer_norm(x, dtype="f32"), F.layer_norm(x.float(), (64,)))


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.layer_norm.default, (torch.randn(5, 2, 8).transpose(0, 1), torch.randn(8)),
        {"dtype": "bf16"}, test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("types", "why"),
    [
        ((TensorType.of(DType.F64, (3,)),), "x must be f32 or bf16 with a last axis, is f64[3]"),
        ((f32(),), "x must be f32 or bf16 with a last axis, is f32[]"),
        ((f32(2, 3), f32(4)), "weight is f32[4], expected f32 or bf16 [3]"),
        ((f32(2, 3), f32(3), f32(2, 3)), "bias is f32[2,3], expected f32 or bf16 [3]"),
    ],
)
def test_type_rule_refuses(types, why):
    with pytest.raises(VerificationError) as error:
        LayerNorm().infer(*types)
    assert str(error.value) == why


def test_cost_counts_what_is_read_and_written():
    cost = LayerNorm(dtype="bf16").cost(f32(2, 3), f32(3), f32(3))
    assert (cost.flops, cost.bytes_moved) == (8 * 6, 4 * (6 + 3 + 3) + 2 * 6)
