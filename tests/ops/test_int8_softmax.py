"""The int8 softmax: values, error bound, type rule."""

import pytest
import torch
from exact_integers import exponential, softmaxed
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.int8_softmax import Int8Softmax
from forge_ugc.quantization.integer_softmax import (
    distance_factor,
    exponential_table,
    probability_bound,
)

load_all()
ROW = st.lists(st.integers(-128, 127), min_size=1, max_size=12)


@settings(max_examples=60)
@given(ROW, st.integers(1, 2**15 - 1), st.integers(0, 31), st.sampled_from([7, 8]))
def test_values_of_the_polynomial(row, multiplier, shift, bits):
    q = torch.ops.forge.int8_softmax(
        torch.tensor(row, dtype=torch.int8), method="polynomial", multiplier=multiplier,
        shift=shift, bits=bits,
    )  # fmt: skip
    assert q.dtype == (torch.int8 if bits == 7 else torch.uint8)
    assert q.tolist() == softmaxed(row, lambda d: exponential(d, multiplier, shift), bits)


@settings(max_examples=30)
@given(ROW, st.floats(1e-4, 5.0), st.sampled_from([7, 8]))
def test_values_of_the_table(row, scale, bits):
    table = exponential_table(scale)
    q = torch.ops.forge.int8_softmax(
        torch.tensor(row, dtype=torch.int8), table, method="table", bits=bits
    )
    assert q.tolist() == softmaxed(row, table.tolist().__getitem__, bits)


@settings(max_examples=30)
@given(
    st.integers(0, 2**31), st.integers(1, 300), st.floats(1e-4, 5.0), st.sampled_from([7, 8]),
    st.sampled_from(["table", "polynomial"]), st.integers(1, 255),
)  # fmt: skip
def test_probabilities_are_within_the_bound(seed, columns, scale, bits, method, spread):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-128, spread - 127, (8, columns), generator=g).to(torch.int8)
    factor = distance_factor(scale)
    table = exponential_table(scale) if method == "table" else None
    q = torch.ops.forge.int8_softmax(
        x, table, method=method, multiplier=factor.multiplier, shift=factor.shift, bits=bits
    )
    exact = (x.double() * scale).softmax(-1)
    error = (q.double() / (2**bits - 1) - exact).abs().max()
    assert error <= probability_bound(columns, method=method, bits=bits)


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.int8_softmax.default, (torch.zeros(5, 8, dtype=torch.int8).t(),),
        {"method": "polynomial", "multiplier": 3, "shift": 1, "bits": 8},
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


X = TensorType.of(DType.I8, (2, 3))
TABLE = TensorType.of(DType.I16, (256,))


@pytest.mark.parametrize(
    ("fields", "x", "table", "message"),
    [
        ({}, TensorType.of(DType.I8, (2, 0)), TABLE, "x is i8[2,0], expected 1 to 132104 columns"),
        ({"method": "exact"}, X, None, "softmax is 'exact', expected one of table, polynomial"),
        ({"bits": 9}, X, TABLE, "bits is 9, expected 7 or 8"),
        ({}, X, None, "the table is missing, expected i16[256]"),
        ({}, X, TABLE.with_dtype(DType.I8), "the table is i8[256], expected i16[256]"),
        ({"method": "polynomial"}, X, TABLE,
         "a table i16[256] is given, but softmax is 'polynomial'"),
        ({"method": "polynomial", "shift": 32}, X, None,
         "the factor of the exponential is 1 / 2**32, expected 1 <= multiplier < 32768 and 0 <= "
         "shift <= 31"),
    ],
)  # fmt: skip
def test_type_rule_refuses(fields, x, table, message):
    with pytest.raises(VerificationError) as error:
        Int8Softmax(**{"method": "table", **fields}).infer(x, table)
    assert str(error.value) == message


def test_cost_counts_what_is_read_and_written():
    cost = Int8Softmax(method="table").cost(X, TABLE)
    assert (cost.flops, cost.bytes_moved) == (96, 6 + 512 + 6)
