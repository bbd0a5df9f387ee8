"""RMS norms in the forms that models write."""

import pytest
import torch
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssRMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.olmo2.modeling_olmo2 import Olmo2RMSNorm
from transformers.models.t5.modeling_t5 import T5LayerNorm


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


X, W = 30 * rand(2, 5, 16), rand(16, seed=1)
MODULES = {
    LlamaRMSNorm: True,
    T5LayerNorm: True,
    GemmaRMSNorm: False,
    GptOssRMSNorm: False,
    Olmo2RMSNorm: False,
}


def moment(x):
    return x.pow(2).mean(-1, keepdim=True)


CHAINS = {
    "llama": lambda m, x: m.w * (x * torch.rsqrt(moment(x) + 1e-5)),
    "weight last": lambda m, x: torch.rsqrt(1e-5 + moment(x)) * x * m.w,
    "product": lambda m, x: m.w * (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)),
    "square": lambda m, x: m.w * (x * torch.rsqrt(x.square().mean(2, keepdim=True) + 1e-5)),
    "power": lambda m, x: m.w * (x * torch.pow(moment(x) + 1e-5, -0.5)),
    "divided": lambda m, x: x / torch.sqrt(moment(x) + 1e-5) * m.w,
    "power half": lambda m, x: x / (moment(x) + 1e-5) ** 0.5 * m.w,
    "reciprocal": lambda m, x: x * torch.reciprocal(torch.sqrt(moment(x) + 1e-5)) * m.w,
}


@pytest.mark.parametrize("name", CHAINS)
def test_every_form(fuse, name):
    ran = fuse(CHAINS[name], X, w=W, rounds=True)
    assert ran.calls() == ["rms_norm"]
    node = ran.only("rms_norm")
    assert (
        node.kwargs.items()
        >= {"eps": 1e-5, "weight_offset": 0.0, "cast_before_weight": True}.items()
    )


def test_the_form_of_llama_is_bit_equal(fuse, pin):
    ran = fuse(CHAINS["llama"], X, w=W)
    pin("rms_norm", ran.before + "\n" + ran.after)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("cls", MODULES, ids=lambda c: c.__name__)
def test_modules_of_transformers_with_their_casts(fuse, cls, dtype):
    net = cls(16, eps=1e-5)
    with torch.no_grad():
        net.weight.copy_(W)
    ran = fuse(net.to(dtype), X.to(dtype))
    assert ran.calls() == ["rms_norm"]
    half = dtype is not torch.float32
    assert ran.only("rms_norm").kwargs["cast_before_weight"] is (MODULES[cls] or not half)
    assert ran.only("rms_norm").args[0].op == "placeholder"


def test_the_one_of_gemma_joins_without_folding(fuse):
    net = GemmaRMSNorm(16, eps=1e-5).bfloat16()
    ran = fuse(net, X.bfloat16(), prepare=False)
    node = ran.only("rms_norm")
    assert node.kwargs["weight_offset"] == 1.0
    assert node.args[1].target == "weight"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_heads_in_transposed_memory_keep_it(fuse, dtype):
    def q_norm(m, x):
        h = x.transpose(1, 2).float()
        h = h * torch.rsqrt(moment(h) + 1e-6)
        return m.w * h.to(x.dtype)

    ran = fuse(q_norm, rand(2, 5, 3, 8, dtype=dtype), w=rand(8, dtype=dtype))
    assert ran.calls() == ["aten.transpose.int", "rms_norm"]


def test_the_case_of_two_weights(fuse):
    def both(m, x):
        h = x.float()
        h = h * torch.rsqrt(moment(h) + 1e-6)
        return m.w1 * h.to(x.dtype), (m.w2 * h).to(x.dtype)

    ran = fuse(both, X.bfloat16(), w1=W.bfloat16(), w2=W)
    assert ran.rules["rms-norm"] == 1
    assert ran.only("rms_norm").args[1:] == ()  # the scaled value is read twice


def test_an_f32_result_of_a_bf16_input_keeps_its_cast_outside(fuse):
    def widened(m, x):
        h = x.float()
        return m.w * (h * torch.rsqrt(moment(h) + 1e-6))

    ran = fuse(widened, X.bfloat16(), w=W)
    assert ran.calls() == ["aten.to.dtype", "rms_norm"]


@pytest.mark.parametrize(
    "weight", [W.view(1, 16), rand(2, 5, 16), rand(1), W.double()], ids=["1x16", "full", "1", "f64"]
)
def test_a_weight_that_does_not_fit_stays_outside(fuse, weight):
    ran = fuse(lambda m, x: m.w * (x * torch.rsqrt(moment(x) + 1e-6)), X, w=weight)
    assert ran.calls() == ["rms_norm", "aten.mul.Tensor"]


def test_a_computed_weight_joins(fuse):
    ran = fuse(lambda m, x, w: w.exp() * (x * torch.rsqrt(moment(x) + 1e-6)), X, W)
    assert ran.calls() == ["aten.exp.default", "rms_norm"]


def test_without_eps(fuse):
    ran = fuse(lambda m, x: x * torch.rsqrt(moment(x)), X)
    assert ran.only("rms_norm").kwargs["eps"] == 0.0


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda m, x: x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6),
            "the mean runs over axes [1], the norm over the last one alone",
        ),
        (
            lambda m, x: x * torch.rsqrt(x.pow(2).mean((1, 2), keepdim=True) + 1e-6),
            "the mean runs over axes [1, 2], the norm over the last one alone",
        ),
        (
            lambda m, x: x[0, :, :5] * torch.rsqrt(x[0, :, :5].pow(2).mean(-1) + 1e-6),
            "the mean drops the last axis, so it broadcasts along another",
        ),
        (
            lambda m, x: x / (torch.sqrt(moment(x)) + 1e-6),
            "eps is added to the root, not under it",
        ),
        (
            lambda m, x: x.exp() * torch.rsqrt(moment(x) + 1e-6),
            "exp is scaled by the norm of inputs_0",
        ),
    ],
)
def test_refusals(fuse, function, reason):
    ran = fuse(function, X)
    assert ran.reasons("rms-norm") == [reason]
    assert ran.rules["rms-norm"] == 0


def test_a_chain_in_bf16_is_a_near_miss(fuse):
    ran = fuse(lambda m, x: x * torch.rsqrt(moment(x) + 1e-6), X.bfloat16())
    assert ran.reasons("rms-norm") == ["the chain computes in bf16[2,5,16], rms_norm in f32"]


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: x * torch.rsqrt(x.pow(3).mean(-1, keepdim=True) + 1e-6),
        lambda m, x: x * torch.rsqrt(x.abs().mean(-1, keepdim=True) + 1e-6),
        lambda m, x: x * torch.sqrt(moment(x) + 1e-6),
        lambda m, x: torch.rsqrt(moment(x) + 1e-6) / x,
        lambda m, x: torch.rsqrt(moment(x) + 1e-6),
        lambda m, x: x.pow(0.5),
    ],
)
def test_what_is_none_stays(fuse, function):
    assert fuse(function, X.abs()).rules["rms-norm"] == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("eps", [1e-5, None])
def test_the_operator_of_pytorch(fuse, dtype, eps):
    def norm(m, x):
        return torch.nn.functional.rms_norm(1e-3 * x, (16,), m.w, eps)

    ran = fuse(norm, X.to(dtype), w=W.to(dtype))
    assert ran.calls() == ["aten.mul.Tensor", "rms_norm"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda m, x: torch.nn.functional.rms_norm(x, (5, 16)),
            "it normalises over the axes [5, 16], rms_norm over the last one alone",
        ),
    ],
)
def test_the_operator_of_pytorch_is_refused(fuse, function, reason):
    assert fuse(function, X).reasons("aten-rms-norm") == [reason]
