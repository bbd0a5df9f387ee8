"""RMS normalisation against the modules of transformers, bit by bit."""

import pytest
import torch
import torch.nn.functional as F
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssRMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.olmo2.modeling_olmo2 import Olmo2RMSNorm
from transformers.models.t5.modeling_t5 import T5LayerNorm

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.rms_norm import RmsNorm

DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def f32(*shape):
    return TensorType.of(DType.F32, shape)


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("module", "attributes"),
    [
        (LlamaRMSNorm(64, eps=1e-5), {"cast_before_weight": True}),
        (T5LayerNorm(64, eps=1e-5), {"cast_before_weight": True}),
        (GemmaRMSNorm(64, eps=1e-5), {"cast_before_weight": False, "weight_offset": 1.0}),
        (GptOssRMSNorm(64, eps=1e-5), {"cast_before_weight": False}),
        (Olmo2RMSNorm(64, eps=1e-5), {"cast_before_weight": False}),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, torch.nn.Module) else "",
)
def test_modules_of_transformers_are_met_bit_by_bit(module, attributes, dtype):
    x = (30 * rand(3, 5, 64)).to(dtype)
    with torch.no_grad():
        module.weight.copy_(rand(64, seed=1))
        module = module.to(dtype)
        got = torch.ops.forge.rms_norm(x, module.weight.detach(), eps=1e-5, **attributes)
        want = module(x)
    assert got.dtype == want.dtype
    assert torch.equal(got, want)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64])
def test_the_operator_of_pytorch_casts_last(dtype):
    x, w = (30 * rand(3, 64)).to(dtype), rand(64, seed=1).to(dtype)
    got = torch.ops.forge.rms_norm(x, w, eps=1e-6, cast_before_weight=False)
    torch.testing.assert_close(got, F.rms_norm(x, (64,), w, 1e-6), rtol=1e-7, atol=0)


def test_where_the_cast_stands_matters_in_bf16():
    x, w = (30 * rand(3, 64)).bfloat16(), rand(64, seed=1).bfloat16()
    first = torch.ops.forge.rms_norm(x, w)
    last = torch.ops.forge.rms_norm(x, w, cast_before_weight=False)
    assert not torch.equal(first, last)


def test_without_weight_and_with_fp32_weight_on_bf16():
    x, w = rand(3, 64).bfloat16(), rand(64, seed=1)
    h = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
    assert torch.equal(torch.ops.forge.rms_norm(x), h.bfloat16())
    got = torch.ops.forge.rms_norm(x, w)
    assert got.dtype == torch.float32
    assert torch.equal(got, w * h.bfloat16())


def test_the_result_keeps_the_memory_order_of_a_transposed_input():
    x = rand(2, 5, 3, 8).transpose(1, 2)
    assert torch.ops.forge.rms_norm(x, rand(8)).stride() == x.stride()


@pytest.mark.parametrize("cast_before_weight", [False, True])
def test_schema_and_meta_kernel_agree_with_the_cpu_kernel(cast_before_weight):
    x = rand(2, 5, 3, 8).transpose(1, 2).bfloat16()
    torch.library.opcheck(
        torch.ops.forge.rms_norm.default, (x, rand(8)), {"cast_before_weight": cast_before_weight},
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("types", "why"),
    [
        ((f32(),), "x must be floating point with a last axis, is f32[]"),
        ((TensorType.of(DType.I64, (4,)),), "x must be floating point with a last axis, is i64[4]"),
        ((f32(3, 4), f32(3)), "weight is f32[3], expected [4]"),
        ((f32(3, 4), f32(1, 4)), "weight is f32[1,4], expected [4]"),
    ],
)
def test_type_rule_refuses(types, why):
    with pytest.raises(VerificationError) as error:
        RmsNorm().infer(*types)
    assert str(error.value) == why


@pytest.mark.parametrize("first", [True, False])
def test_a_result_of_another_type_is_rounded_once(first):
    x, w = 30 * rand(3, 64), rand(64, seed=1)
    wide = torch.ops.forge.rms_norm(x, w, weight_offset=1.0, cast_before_weight=first)
    got = torch.ops.forge.rms_norm(x, w, weight_offset=1.0, cast_before_weight=first, dtype="bf16")
    assert torch.equal(got, wide.bfloat16())
    assert RmsNorm(dtype="bf16").infer(f32(3, 64)) == TensorType.of(DType.BF16, (3, 64))
    with pytest.raises(VerificationError, match="weight is f64"):
        RmsNorm(dtype="bf16").infer(f32(3, 64), TensorType.of(DType.F64, (64,)))
