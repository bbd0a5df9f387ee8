"""Rows of a table in a type of their own."""

import pytest
import torch

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.embedding import Embedding

TABLE = TensorType.of(DType.BF16, (7, 4))
IDS = TensorType.of(DType.I64, (2, 3))


def test_rows_are_widened_without_rounding():
    table, ids = torch.randn(7, 4).bfloat16(), torch.tensor([[6, 0, 3], [3, 1, 1]])
    got = torch.ops.forge.embedding(table, ids, dtype="f32")
    assert got.dtype == torch.float32
    assert torch.equal(got, table.float()[ids])
    assert torch.equal(torch.ops.forge.embedding(table, ids), table[ids])


def test_a_number_past_the_table_is_refused():
    with pytest.raises(IndexError):
        torch.ops.forge.embedding(torch.randn(7, 4), torch.tensor([7]))


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.embedding.default, (torch.randn(7, 4).bfloat16(), torch.tensor([6, 0])),
        {"dtype": "f32"}, test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("table", "ids", "dtype", "why"),
    [
        (TensorType.of(DType.F64, (7, 4)), IDS, None,
         "the table must be f32 or bf16 [rows, size], is f64[7,4]"),
        (TensorType.of(DType.F32, (7,)), IDS, None,
         "the table must be f32 or bf16 [rows, size], is f32[7]"),
        (TABLE, TensorType.of(DType.F32, (2,)), None, "ids must be i64 or i32, are f32[2]"),
        (TABLE, IDS, "f16", "dtype is 'f16', expected one of f32, bf16"),
    ],
)  # fmt: skip
def test_type_rule_refuses(table, ids, dtype, why):
    with pytest.raises(VerificationError) as error:
        Embedding(dtype=dtype).infer(table, ids)
    assert str(error.value) == why


def test_cost_counts_the_rows_read_and_written():
    cost = Embedding(dtype="f32").cost(TABLE, IDS)
    assert (cost.flops, cost.bytes_moved) == (0, 6 * 8 + 6 * 4 * (2 + 4))
