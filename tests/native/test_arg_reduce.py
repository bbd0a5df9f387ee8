"""Every variant of arg_reduce against PyTorch."""

import pytest
import torch
from kernel_checks import FLOATS, GUARD, every_variant

from forge_ugc import native

NUMBERS = {**FLOATS, torch.int64: 2}
INF, NAN = float("inf"), float("nan")


def run(kind, x, indices, values, *, isa, shares=1):
    """x is [outer, count, inner], indices and values [outer, inner], all with any strides."""
    native.run_kernel(
        "arg_reduce", isa=isa, shares=shares, x=x, x_type=NUMBERS[x.dtype],
        x_strides=list(x.stride()), indices=indices, index_strides=list(indices.stride()),
        values=values, value_strides=[0, 0] if values is None else list(values.stride()),
        outer=x.shape[0], count=x.shape[1], inner=x.shape[2], extremum=int(kind == "minimum"),
    )  # fmt: skip


def assert_finds(kind, x, isa, shares=1):
    room = torch.full((x.shape[0] + 2, x.shape[2] + 2), 7)
    indices = room[1:-1, 1:-1]
    value_room = torch.full((x.shape[2] + 2, x.shape[0] + 2), GUARD).to(x.dtype)
    values = value_room.T[1:-1, 1:-1]
    run(kind, x, indices, values, isa=isa, shares=shares)
    want = x.max(1) if kind == "maximum" else x.min(1)
    assert torch.equal(indices, want.indices)
    torch.testing.assert_close(values, want.values, rtol=0, atol=0, equal_nan=True)
    only = torch.zeros_like(indices)
    run(kind, x, only, None, isa=isa)
    assert torch.equal(only, indices)
    indices.fill_(7)
    values.fill_(GUARD)
    assert bool((room == 7).all())
    assert bool((value_room == GUARD).all())


def every_kind(function):
    return pytest.mark.parametrize("kind", ["maximum", "minimum"])(function)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@every_variant("arg_reduce")
@every_kind
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 15, 16, 17, 33, 64, 65, 256, 257, 1025, 3001])
def test_adjacent_elements(isa, count, dtype, kind):
    assert_finds(kind, (torch.randn(5, count, 1) * 100).to(dtype), isa, 2)


@every_variant("arg_reduce")
@every_kind
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("inner", [2, 3, 7, 8, 9, 15, 17, 33, 64, 65])
def test_adjacent_columns(isa, inner, dtype, kind):
    assert_finds(kind, (torch.randn(3, 20, inner) * 100).to(dtype), isa, 3)


@every_variant("arg_reduce")
@every_kind
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(4, 1, 1), (4, 700, 1), (4, 3000, 1), (3, 100, 30)])
def test_the_first_of_equals(isa, shape, dtype, kind):
    x = torch.randint(-2, 3, shape).to(dtype)
    assert_finds(kind, x, isa, 2)
    assert_finds(kind, torch.zeros(shape, dtype=dtype), isa)


@every_variant("arg_reduce")
@every_kind
@pytest.mark.parametrize("dtype", NUMBERS)
def test_strides(isa, dtype, kind):
    def data(*shape):
        return (torch.randn(shape) * 100).to(dtype)

    assert_finds(kind, data(4, 9, 80)[::2, ::3, 3:70], isa, 3)
    assert_finds(kind, data(3, 40, 21).transpose(1, 2), isa, 2)
    assert_finds(kind, data(6, 70, 5).permute(2, 1, 0), isa, 2)
    assert_finds(kind, data(3, 300, 10, 2)[..., 0], isa)
    assert_finds(kind, data(1, 33, 3).expand(4, 33, 3), isa)
    assert_finds(kind, data(2, 1, 20).expand(2, 9, 20), isa)


@every_variant("arg_reduce")
@every_kind
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("at", [0, 17, 64, 69, 1500])
@pytest.mark.parametrize("shape", [(3, 2000, 1), (2, 2000, 5), (2, 2000, 40)])
def test_special_values_as_in_pytorch(isa, shape, at, value, dtype, kind):
    x = torch.randn(shape).to(dtype)
    x[1, at, -1] = value
    x[1, 1700, -1] = value
    x[0, 1, 0] = -value
    assert_finds(kind, x, isa)


@every_variant("arg_reduce")
@every_kind
@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("shape", [(2, 3, 1), (2, 1100, 1), (2, 3, 20)])
def test_rows_of_one_special_value(isa, shape, value, kind):
    assert_finds(kind, torch.full(shape, value), isa)


@every_variant("arg_reduce")
@pytest.mark.parametrize("shape", [(0, 3, 4), (4, 3, 0), (0, 3, 1)])
def test_no_results(isa, shape):
    out = torch.full((4, 4), 7)
    run("maximum", torch.empty(shape), out[: shape[0], : shape[2]], None, isa=isa, shares=2)
    assert bool((out == 7).all())


@every_variant("arg_reduce")
@every_kind
def test_integers_that_float32_cannot_tell_apart(isa, kind):
    x = torch.arange(2**53, 2**53 + 40)[None, :, None]
    assert_finds(kind, x, isa)
    assert_finds(kind, x.flip(1), isa)
