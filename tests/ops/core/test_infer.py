"""Type rules of operators, with and without a meta kernel in PyTorch."""

import pytest
import torch

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


def test_statistics_of_batch_normalisation_in_eval_mode_are_empty():
    x = TensorType.of(DType.F32, (2, 3, 4))
    per_channel = TensorType.of(DType.F32, (3,))
    kinds = infer(
        "aten._native_batch_norm_legit_no_training.default",
        (x, per_channel, per_channel, per_channel, per_channel),
        {"momentum": 0.1, "eps": 1e-5},
    )
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.ReLU(inplace=True)).eval()
    exported = torch.export.export(module, (torch.ones(2, 3, 4),)).run_decompositions({})
    norm = next(n for n in exported.graph.nodes if "batch_norm" in str(n.target))
    assert [k.shape for k in kinds] == [tuple(v.shape) for v in norm.meta["val"]]
