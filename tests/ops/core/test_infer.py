"""Type rules of operators, with and without a meta kernel in PyTorch."""

import pytest

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.infer import infer, infer_views

F32 = TensorType.of(DType.F32, (2, 6))
QUANTISE = "aten.fake_quantize_per_tensor_affine.default"
RANGE = {"scale": 0.5, "zero_point": 0, "quant_min": -128, "quant_max": 127}


def test_an_operator_without_a_meta_kernel_is_run_on_zeros():
    assert infer(QUANTISE, (F32,), RANGE) == (F32,)


def test_a_huge_operand_is_not_allocated_for_it():
    huge = TensorType.of(DType.F32, (1 << 40,))
    with pytest.raises(VerificationError, match="breaks the operator's type rule"):
        infer(QUANTISE, (huge,), RANGE)


def test_offsets_of_views_count_from_the_operand():
    halves = infer_views("aten.chunk.default", (F32,), {"chunks": 2, "dim": 1})
    half = TensorType.of(DType.F32, (2, 3), (6, 1))
    assert halves == ((half, 0), (half, 3))
