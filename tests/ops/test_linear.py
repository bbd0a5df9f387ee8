"""The linear operator against the eager chain it stands for."""

import pytest
import torch
import torch.nn.functional as F

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.activation import ACTIVATIONS
from forge_ugc.ops.linear import Linear

EAGER = {
    "none": lambda x: x,
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def operands(dtype=torch.float32, lead=(2, 5)):
    g = torch.Generator().manual_seed(0)
    shapes = ((*lead, 16), (24, 16), (24,), (*lead, 24))
    return [torch.randn(s, generator=g).to(dtype) for s in shapes]


def f32(*shape):
    return TensorType.of(DType.F32, shape)


def test_the_table_of_activations_is_the_one_tested_here():
    assert set(EAGER) == set(ACTIVATIONS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("activation", sorted(EAGER))
def test_every_activation_and_dtype_is_bit_equal_to_eager(activation, dtype):
    x, w, b, r = operands(dtype)
    got = torch.ops.forge.linear(x, w, b, r, activation=activation)
    assert torch.equal(got, r + EAGER[activation](F.linear(x, w, b)))
    assert got.dtype == dtype


@pytest.mark.parametrize("lead", [(), (1,), (3,), (2, 0), (2, 3, 4)])
def test_any_rank_from_one(lead):
    x, w, b, _ = operands(lead=lead)
    got = torch.ops.forge.linear(x, w, b)
    assert torch.equal(got, F.linear(x, w, b))
    assert got.shape == (*lead, 24)


def test_activation_comes_before_the_residual():
    x, w, _, r = operands()
    got = torch.ops.forge.linear(x, w, None, r, activation="relu")
    assert torch.equal(got, F.relu(F.linear(x, w)) + r)
    assert not torch.equal(got, F.relu(F.linear(x, w) + r))


def test_transposed_weight_view_and_strided_input():
    x, _, b, _ = operands()
    stored = torch.randn(16, 24)  # [in, out], as GPT-2 keeps it
    got = torch.ops.forge.linear(x.transpose(0, 1), stored.t(), b)
    assert torch.equal(got, F.linear(x.transpose(0, 1), stored.t(), b))
    assert got.is_contiguous()


def test_nan_and_infinity_pass_through():
    x = torch.tensor([[float("nan"), 1.0], [float("inf"), 1.0]])
    got = torch.ops.forge.linear(x, torch.ones(1, 2), activation="relu")
    assert torch.isnan(got[0, 0])
    assert got[1, 0] == float("inf")


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    x, w, b, r = operands()
    torch.library.opcheck(
        torch.ops.forge.linear.default, (x.transpose(0, 1), w, b, r.transpose(0, 1)),
        {"activation": "silu"}, test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("types", "why"),
    [
        ((f32(), f32(4, 1)), "x must be floating point with a last axis, is f32[]"),
        (
            (TensorType.of(DType.I64, (3,)), f32(4, 3)),
            "x must be floating point with a last axis, is i64[3]",
        ),
        ((f32(2, 3), f32(3)), "weight must have two axes [out, in], is f32[3]"),
        ((f32(2, 3), f32(3, 4)), "weight is f32[3,4], expected [out,3] for x f32[2,3]"),
        (
            (f32(2, 3), TensorType.of(DType.BF16, (4, 3))),
            "weight is bf16[4,3], expected dtype f32 of x",
        ),
        ((f32(2, 3), f32(4, 3), f32(1)), "bias is f32[1], expected [4]"),
        (
            (f32(2, 3), f32(4, 3), TensorType.of(DType.F64, (4,))),
            "bias is f64[4], expected dtype f32 of x",
        ),
        (
            (f32(2, 3), f32(4, 3), None, f32(1, 4)),
            "residual is f32[1,4], expected the result's f32[2,4]",
        ),
        (
            (f32(2, 3), f32(4, 3), None, TensorType.of(DType.F64, (2, 4))),
            "residual is f64[2,4], expected the result's f32[2,4]",
        ),
    ],
)
def test_type_rule_refuses(types, why):
    with pytest.raises(VerificationError) as error:
        Linear().infer(*types)
    assert str(error.value) == why


def test_unknown_activation_is_refused_with_the_choice():
    with pytest.raises(VerificationError) as error:
        Linear(activation="swish").infer(f32(2, 3), f32(4, 3))
    assert str(error.value) == (
        "no activation is called 'swish'\n  fix: choose from none, relu, gelu, gelu_tanh, "
        "quick_gelu, silu, sigmoid, tanh"
    )


def test_cost_counts_products_bias_activation_and_residual():
    cost = Linear(activation="relu").cost(f32(2, 3), f32(4, 3), f32(4), f32(2, 4))
    assert cost.flops == 2 * 2 * 3 * 4 + 3 * 8
    assert cost.bytes_moved == 4 * (6 + 12 + 4 + 8 + 8)
    assert Linear().cost(f32(2, 3), f32(4, 3)).flops == 2 * 2 * 3 * 4
