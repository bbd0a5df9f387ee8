"""Merged linear layers against the separate ones."""

import pytest
import torch
import torch.nn.functional as F

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.merged_linear import MergedLinear


def f32(*shape):
    return TensorType.of(DType.F32, shape)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_each_result_is_bit_equal_to_its_own_linear(dtype):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(2, 5, 16, generator=g).to(dtype)
    weights = [torch.randn(n, 16, generator=g).to(dtype) for n in (24, 8, 8)]
    biases = [torch.randn(24, generator=g).to(dtype), None, torch.randn(8, generator=g).to(dtype)]
    got = torch.ops.forge.merged_linear(x, weights, biases)
    assert len(got) == 3
    for y, w, b in zip(got, weights, biases, strict=True):
        assert torch.equal(y, F.linear(x, w, b))


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    x = torch.randn(5, 2, 16).transpose(0, 1)
    torch.library.opcheck(
        torch.ops.forge.merged_linear.default,
        (x, [torch.randn(3, 16)] * 2, [None, torch.randn(3)]),
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("weights", "biases", "why"),
    [
        ((), (), "there is no weight"),
        ((f32(4, 3),), (None, None), "1 weights but 2 biases"),
        (
            (f32(4, 3), f32(4, 2)),
            (None, None),
            "weight is f32[4,2], expected [out,3] for x f32[2,3]",
        ),
        ((f32(4, 3), f32(5, 3)), (None, f32(4)), "bias is f32[4], expected [5]"),
    ],
)
def test_type_rule_refuses(weights, biases, why):
    with pytest.raises(VerificationError) as error:
        MergedLinear().infer(f32(2, 3), weights, biases)
    assert str(error.value) == why


def test_cost_counts_the_input_once():
    cost = MergedLinear().cost(f32(2, 3), (f32(4, 3), f32(5, 3)), (None, f32(5)))
    assert cost.flops == 2 * 2 * 3 * 9 + 10
    assert cost.bytes_moved == 4 * (6 + 12 + 15 + 5 + 8 + 10)
