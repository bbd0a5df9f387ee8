"""The gated linear unit against the eager chain it stands for."""

import pytest
import torch
import torch.nn.functional as F

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.gated_linear import GatedLinear


def f32(*shape):
    return TensorType.of(DType.F32, shape)


def operands(dtype=torch.float32):
    g = torch.Generator().manual_seed(0)
    shapes = ((2, 5, 16), (24, 16), (24, 16), (24,), (24,))
    return [torch.randn(s, generator=g).to(dtype) for s in shapes]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_swiglu_is_bit_equal_to_eager(dtype):
    x, gate, up, b, c = operands(dtype)
    got = torch.ops.forge.gated_linear(x, gate, up, b, c)
    assert torch.equal(got, F.silu(F.linear(x, gate, b)) * F.linear(x, up, c))


def test_geglu_with_one_bias_activates_the_gate_only():
    x, gate, up, _, c = operands()
    got = torch.ops.forge.gated_linear(x, gate, up, None, c, activation="gelu")
    assert torch.equal(got, F.gelu(F.linear(x, gate)) * F.linear(x, up, c))
    swapped = torch.ops.forge.gated_linear(x, up, gate, c, None, activation="gelu")
    assert not torch.equal(got, swapped)


def test_halves_of_one_weight_are_views():
    x, *_ = operands()
    both = torch.randn(48, 16)
    got = torch.ops.forge.gated_linear(x, both[:24], both[24:])
    gate, up = F.linear(x, both).chunk(2, -1)
    torch.testing.assert_close(got, F.silu(gate) * up, rtol=1e-6, atol=1e-6)


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    x, *rest = operands()
    torch.library.opcheck(
        torch.ops.forge.gated_linear.default, (x.transpose(0, 1), *rest),
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("types", "why"),
    [
        ((f32(2, 3), f32(4, 3), f32(1, 3)), "gate weight is f32[4,3], up weight is f32[1,3]"),
        ((f32(2, 3), f32(4, 2), f32(4, 2)), "weight is f32[4,2], expected [out,3] for x f32[2,3]"),
        ((f32(2, 3), f32(4, 3), f32(4, 3), f32(1)), "bias is f32[1], expected [4]"),
        ((f32(2, 3), f32(4, 3), f32(4, 3), None, f32(1)), "bias is f32[1], expected [4]"),
    ],
)
def test_type_rule_refuses(types, why):
    with pytest.raises(VerificationError) as error:
        GatedLinear().infer(*types)
    assert str(error.value) == why


def test_unknown_activation_is_refused():
    with pytest.raises(VerificationError, match="no activation is called 'swiglu'"):
        GatedLinear(activation="swiglu").infer(f32(2, 3), f32(4, 3), f32(4, 3))


def test_cost_counts_the_input_once():
    cost = GatedLinear().cost(f32(2, 3), f32(4, 3), f32(4, 3))
    assert cost.flops == 2 * (2 * 2 * 3 * 4) + 2 * 8
    assert cost.bytes_moved == 4 * (6 + 12 + 12 + 8)
