"""Weights in 8 bits: the engine and PyTorch's operators give the same bits."""

import pytest
import torch

from forge_ugc import native
from forge_ugc.ops.quantize_rows import QuantizeRows
from forge_ugc.quantization import int8
from forge_ugc.quantization.int8 import quantize_weight

DTYPES = (torch.float32, torch.bfloat16)


def weight(rows, depth, dtype, seed=0):
    """Rows of every magnitude, those included whose 127 / max overflows."""
    made = torch.randn(rows, depth, generator=torch.Generator().manual_seed(seed))
    return (made * torch.logspace(-44, 37, rows, dtype=torch.float64)[:, None]).to(dtype)


def assert_same(left, right):
    for a, b in zip(left, right, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
        assert a.is_contiguous()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (130, 77), (257, 300), (2000, 768)])
@pytest.mark.parametrize("layout", ["rows", "transposed", "skipped"])
def test_engine_and_operators_agree_in_every_bit(monkeypatch, dtype, shape, layout):
    rows, depth = shape
    given = weight(2 * rows, 3 * depth, dtype)[::2, ::3]
    if layout == "rows":
        given = given.contiguous()
    elif layout == "transposed":
        given = given.T.contiguous().T
    native_bits = quantize_weight(given)
    monkeypatch.setattr(native, "missing", lambda: "switched off for this test")
    by_operators = quantize_weight(given)
    assert_same(native_bits, by_operators)
    assert_same(by_operators, QuantizeRows().eval(given))


def test_values_that_are_no_numbers(monkeypatch):
    given = weight(70, 50, torch.float32)
    given[3, 7], given[64, 0], given[65] = torch.nan, -torch.inf, 0.0
    q, scale = quantize_weight(given)
    assert scale[[3, 64]].isnan().all()
    assert scale[65] == 0
    assert not q[[3, 64, 65]].any()
    monkeypatch.setattr(native, "missing", lambda: "switched off for this test")
    assert_same((q, scale), quantize_weight(given))


def test_operators_take_a_few_rows_at_a_time(monkeypatch):
    given = torch.randn(37, 16)
    monkeypatch.setattr(native, "missing", lambda: "switched off for this test")
    whole = quantize_weight(given)
    monkeypatch.setattr(int8, "_CHUNK_ELEMENTS", 40)
    assert_same(whole, quantize_weight(given))
    error = (given - whole[0] * whole[1][:, None]).abs()
    assert (error <= whole[1][:, None] * (0.5 + 2.0**-15)).all()
