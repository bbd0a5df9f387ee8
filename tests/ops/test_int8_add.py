"""The int8 sum of two scales: values and type rule."""

import pytest
import torch
from exact_integers import clip
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.int8_add import Int8Add

load_all()
BYTES = torch.arange(-128, 128, dtype=torch.int8)
FACTOR = st.integers(1, 2**15 - 1)


@settings(max_examples=20)
@given(FACTOR, FACTOR, st.integers(0, 20), st.booleans())
def test_every_pair_of_bytes(ma, mb, shift, relu):
    a, b = (x.contiguous() for x in torch.meshgrid(BYTES, BYTES, indexing="ij"))
    y = torch.ops.forge.int8_add(a, b, multiplier_a=ma, multiplier_b=mb, shift=shift, relu=relu)
    exact = (a.double() * ma + b.double() * mb) / 2**shift  # exact in f64
    assert torch.equal(y, exact.round().clamp(0 if relu else -128, 127).to(torch.int8))


def test_there_is_one_rounding():
    a = torch.tensor([1], dtype=torch.int8)
    y = torch.ops.forge.int8_add(a, a, multiplier_a=1, multiplier_b=1, shift=2)
    assert y.tolist() == [clip(round(0.5))]
    y = torch.ops.forge.int8_add(a, a, multiplier_a=3, multiplier_b=3, shift=2)
    assert y.tolist() == [clip(round(1.5))]


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.int8_add.default, (BYTES.view(16, 16).t(), BYTES.view(16, 16)),
        {"multiplier_a": 3, "multiplier_b": 5, "shift": 1},
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "mb", "message"),
    [
        (TensorType.of(DType.I32, (3,)), TensorType.of(DType.I8, (3,)), 1,
         "a must be i8 with 1 axes or more, is i32[3]"),
        (TensorType.of(DType.I8, (3,)), TensorType.of(DType.I8, (4,)), 1,
         "a is i8[3] and b is i8[4]: their shapes differ"),
        (TensorType.of(DType.I8, (3,)), TensorType.of(DType.I8, (3,)), 1 << 15,
         "the factor of b is 32768 / 2**0, expected 1 <= multiplier < 32768 and 0 <= shift <= 47"),
    ],
)  # fmt: skip
def test_type_rule_refuses(a, b, mb, message):
    with pytest.raises(VerificationError) as error:
        Int8Add(multiplier_a=1, multiplier_b=mb, shift=0).infer(a, b)
    assert str(error.value) == message


def test_cost_counts_what_is_read_and_written():
    kind = TensorType.of(DType.I8, (3, 4))
    cost = Int8Add(multiplier_a=1, multiplier_b=1, shift=0).cost(kind, kind)
    assert (cost.flops, cost.bytes_moved) == (48, 36)
