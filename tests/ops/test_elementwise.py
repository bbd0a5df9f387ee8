"""The elementwise operator against the eager chain it stands for, and its type rule."""

import pytest
import torch
import torch.nn.functional as F

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.ops.elementwise import Elementwise

call = torch.ops.forge.elementwise


def rand(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_a_residual_with_a_multiplier_is_bit_equal_to_eager(dtype):
    a, b = rand(2, 5, dtype=dtype), rand(2, 5, dtype=dtype, seed=1)
    got = call([a, b], code="add(a, mul(b, 0.246))")
    assert torch.equal(got, a + b * 0.246)


def test_operands_broadcast_and_promote_as_in_pytorch():
    a, b, c = rand(2, 1, 5), rand(3, 1, dtype=torch.bfloat16), torch.arange(5)
    got = call([a, b, c], code="mul(sub(a, b), c)")
    assert got.dtype == torch.float32
    assert torch.equal(got, (a - b) * c)


def test_casts_are_steps_of_their_own():
    a, b = rand(4), rand(4, seed=1)
    got = call([a, b], code="add(bf16(mul(a, b)), 1)")
    assert got.dtype == torch.bfloat16
    assert torch.equal(got, (a * b).bfloat16() + 1)


def test_masks():
    a, mask = rand(3, 4), torch.tensor([[True], [False], [True]])
    got = call([a, mask], code="where(logical_not(b), -inf, f32(a))")
    assert torch.equal(got, a.masked_fill(~mask, float("-inf")))


def test_a_transposed_operand_gives_a_transposed_result():
    a = rand(3, 4).t()
    got = call([a], code="silu(a)")
    assert got.stride() == (1, 4)
    assert torch.equal(got, F.silu(a))


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.elementwise.default, ([rand(3, 4).t(), rand(4, 1)],),
        {"code": "exp(add(a, b))"}, test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


def test_the_type_is_that_of_the_last_step():
    a, b = TensorType.of(DType.F32, (2, 3)), TensorType.of(DType.I64, (3,))
    assert str(Elementwise(code="lt(a, b)").infer([a, b])) == "bool[2,3]"


@pytest.mark.parametrize(
    ("code", "operands", "why"),
    [
        ("add(a, b)", 1, "'b' is neither a function nor one of 1 operands at character 7"),
        ("add(a, 1)", 2, "operand b is never read at character 9"),
        ("add(a)", 1, "add takes 2 arguments, got 1 at character 6"),
        ("import(a)", 1, "'import' is neither a function nor one of 1 operands at character 0"),
        ("a", 1, "expected a function at character 1"),
        ("add(1, 2)", 1, "add reads no operand at character 9"),
        ("neg(a))", 1, "expected the end at character 6"),
        ("neg a", 1, "expected ( after neg at character 5"),
        ("pow(a, a)", 1, "pow takes numbers after its first 1 at character 9"),
        ("neg(a", 1, "expected a letter, a number or a function at character 5"),
        ("add(a, 1e)", 1, "expected a letter, a number or a function at character 6"),
        ("neg(" * 65 + "a" + ")" * 65, 1, "more than 64 calls at character 259"),
    ],
)
def test_text_that_is_no_expression_is_refused(code, operands, why):
    with pytest.raises(VerificationError, match="cannot be read") as error:
        Elementwise(code=code).infer([TensorType.of(DType.F32, (2,))] * operands)
    assert error.value.why == why


def test_more_values_at_once_than_a_kernel_keeps_are_refused():
    code = "neg(a)"
    for n in range(14):
        code = f"add({code}, mul(a, {n}.5))"
    with pytest.raises(VerificationError) as error:
        Elementwise(code=code).infer([TensorType.of(DType.F32, (2,))])
    assert "values are kept at once, at most 14 can be" in error.value.why


def test_cost_counts_every_different_call_once():
    a = TensorType.of(DType.F32, (2, 3))
    cost = Elementwise(code="mul(exp(a), exp(a))").cost([a])
    assert (cost.flops, cost.bytes_moved) == (12, 48)


def test_types_of_pytorch_are_found_for_every_function():
    from forge_ugc.ops.core.functions import FUNCTIONS

    for name, function in FUNCTIONS.items():
        mask = name == "where" or "wise" in name
        x = torch.tensor([True, False]) if mask else rand(2).abs()
        given = ["a"] * function.operands + ["2.0"] * function.constants
        code = f"{name}({', '.join(given)})"
        got = call([x], code=code)
        want = function.call(*[x] * function.operands, *[2.0] * function.constants)
        assert torch.equal(got, want), name
        assert type_of(got) == type_of(want)
