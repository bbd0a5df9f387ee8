"""Every variant of reduce against PyTorch, in float64 for floating-point elements."""

import itertools

import pytest
import torch
from kernel_checks import EPSILON, FLOATS, GUARD, assert_within, every_variant

from forge_ugc import native

NUMBERS = {**FLOATS, torch.int64: 2, torch.bool: 3}
KINDS = ("sum", "mean", "product", "maximum", "minimum", "any", "all")
FLOAT_KINDS = KINDS[:5]
TYPES = list(itertools.product(FLOATS, FLOATS))
NAMES = ["-".join(str(t).removeprefix("torch.") for t in types) for types in TYPES]
INF, NAN = float("inf"), float("nan")


def run(kind, x, out, *, isa, shares=1):
    """x is [outer, count, inner], out [outer, inner], both with any strides."""
    native.run_kernel(
        "reduce", isa=isa, shares=shares, x=x, x_type=NUMBERS[x.dtype], x_strides=list(x.stride()),
        out=out, out_type=NUMBERS[out.dtype], out_strides=list(out.stride()),
        outer=x.shape[0], count=x.shape[1], inner=x.shape[2], reduction=KINDS.index(kind),
    )  # fmt: skip


def exact(kind, x):
    if kind in ("any", "all"):
        return getattr(x, kind)(1)
    wide = x.double() if x.is_floating_point() else x
    return {
        "sum": wide.sum,
        "mean": lambda axis: wide.double().mean(axis),
        "product": wide.prod,
        "maximum": wide.amax,
        "minimum": wide.amin,
    }[kind](1)


def bound(kind, x):
    """The error that csrc/kernels/reduce/reduce.h promises."""
    count = x.shape[1]
    if kind in ("maximum", "minimum"):
        return torch.zeros(())
    if kind == "product":
        return x.double().prod(1).abs() * count * EPSILON
    sizes = x.double().abs().sum(1) * (count / 16 + 70) * EPSILON
    return sizes / count if kind == "mean" else sizes


def guarded(shape, dtype, gap=2):
    room = torch.full((shape[0] + 2, shape[1] + 2 * gap), GUARD).to(dtype)
    return room, room[1 : 1 + shape[0], gap : gap + shape[1]]


def assert_reduces(kind, x, out_type, isa, shares=1):
    room, out = guarded((x.shape[0], x.shape[2]), out_type)
    run(kind, x, out, isa=isa, shares=shares)
    if x.is_floating_point():
        assert_within(out, exact(kind, x), bound(kind, x))
    else:
        assert torch.equal(out, exact(kind, x).to(out_type))
    out.copy_(torch.full((), GUARD).to(out_type))
    assert bool((room == torch.full((), GUARD).to(out_type)).all())


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@every_variant("reduce")
@pytest.mark.parametrize("shares", [1, 3])
@pytest.mark.parametrize("kind", FLOAT_KINDS)
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 129, 1001])
def test_adjacent_elements(isa, count, kind, shares):
    assert_reduces(kind, torch.randn(5, count, 1), torch.float32, isa, shares)


@every_variant("reduce")
@pytest.mark.parametrize("shares", [1, 3])
@pytest.mark.parametrize("kind", FLOAT_KINDS)
@pytest.mark.parametrize("inner", [2, 3, 7, 8, 9, 15, 17, 31, 33, 47, 63, 64, 65, 130])
@pytest.mark.parametrize("count", [1, 5, 70])
def test_adjacent_columns(isa, count, inner, kind, shares):
    assert_reduces(kind, torch.randn(3, count, inner), torch.float32, isa, shares)


@every_variant("reduce")
@pytest.mark.parametrize("kind", FLOAT_KINDS)
@pytest.mark.parametrize(("x_type", "out_type"), TYPES, ids=NAMES)
@pytest.mark.parametrize("shape", [(3, 83, 1), (2, 5, 83)])
def test_types(isa, shape, x_type, out_type, kind):
    assert_reduces(kind, torch.randn(shape).to(x_type), out_type, isa, 2)


STRIDES = {
    "gaps": lambda x: x(4, 9, 80)[::2, ::3, 3:70],
    "columns of every row": lambda x: x(3, 40, 21).transpose(1, 2),
    "axes reversed": lambda x: x(6, 70, 5).permute(2, 1, 0),
    "no axis adjacent": lambda x: x(3, 300, 10, 2)[..., 0],
    "one row again and again": lambda x: x(1, 33, 3).expand(4, 33, 3),
    "one element again and again": lambda x: x(2, 1, 20).expand(2, 9, 20),
}


@every_variant("reduce")
@pytest.mark.parametrize("kind", ["mean", "product", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", STRIDES)
def test_strides(isa, name, dtype, kind):
    x = STRIDES[name](lambda *shape: torch.randn(shape).to(dtype))
    assert_reduces(kind, x, dtype, isa, 3)
    out = torch.zeros(x.shape[2], x.shape[0], dtype=dtype).T
    run(kind, x, out, isa=isa, shares=2)
    assert_within(out, exact(kind, x), bound(kind, x))


@every_variant("reduce")
@pytest.mark.parametrize("kind", ["sum", "product", "maximum", "minimum"])
@pytest.mark.parametrize("shape", [(3, 1, 1), (3, 37, 1), (2, 5, 37), (1, 1000, 2)])
def test_integers(isa, shape, kind):
    x = torch.randint(-(2**62), 2**62, shape)
    assert_reduces(kind, x, torch.int64, isa, 2)
    assert_reduces(kind, x.transpose(0, 2).contiguous().transpose(0, 2), torch.int64, isa, 2)


@every_variant("reduce")
@pytest.mark.parametrize("share", [0.0, 0.02, 0.98, 1.0])
@pytest.mark.parametrize("shape", [(3, 1, 1), (3, 300, 1), (2, 50, 37)])
def test_truth_values(isa, shape, share):
    x = torch.rand(shape) < share
    for kind in ("any", "all"):
        assert_reduces(kind, x, torch.bool, isa, 2)
    assert_reduces("sum", x, torch.int64, isa)


@every_variant("reduce")
@pytest.mark.parametrize("kind", FLOAT_KINDS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("at", [0, 64])
@pytest.mark.parametrize("shape", [(3, 70, 1), (2, 70, 5), (2, 70, 70)])
def test_special_values_as_in_pytorch(isa, shape, at, value, dtype, kind):
    x = torch.randn(shape).to(dtype)
    x[1, at, 0] = value
    x[1, 69, -1] = 1.0
    out = torch.zeros(shape[0], shape[2], dtype=dtype)
    run(kind, x, out, isa=isa)
    want = exact(kind, x)
    assert torch.equal(out.isnan(), want.isnan())
    assert torch.equal(out.isinf(), want.isinf())
    assert_within(out[0], want[0], bound(kind, x)[0] if kind not in KINDS[3:] else 0.0)


@every_variant("reduce")
@pytest.mark.parametrize("values", [[INF, -INF], [NAN, NAN], [-INF, -INF], [-0.0, 0.0]])
@pytest.mark.parametrize("kind", FLOAT_KINDS)
def test_rows_of_special_values(isa, kind, values):
    x = torch.tensor(values)[None, :, None]
    for shape in ((1, 2, 1), (1, 2, 20)):
        out = torch.zeros(1, shape[2])
        run(kind, x.expand(shape).contiguous(), out, isa=isa)
        want = exact(kind, x.expand(shape)).float()
        torch.testing.assert_close(out, want, rtol=0, atol=0, equal_nan=True)


@every_variant("reduce")
@pytest.mark.parametrize("inner", [1, 5])
def test_no_elements(isa, inner):
    out = torch.full((2, inner), GUARD)
    for kind, want in [("sum", 0.0), ("product", 1.0), ("mean", NAN)]:
        run(kind, torch.empty(2, 0, inner), out, isa=isa)
        torch.testing.assert_close(out, torch.full((2, inner), want), equal_nan=True)
    truth = torch.ones(2, inner, dtype=torch.bool)
    run("any", torch.empty(2, 0, inner, dtype=torch.bool), truth, isa=isa)
    assert not bool(truth.any())
    run("all", torch.empty(2, 0, inner, dtype=torch.bool), truth, isa=isa)
    assert bool(truth.all())


@every_variant("reduce")
@pytest.mark.parametrize("shape", [(0, 3, 4), (4, 3, 0), (0, 3, 1)])
def test_no_results(isa, shape):
    out = torch.full((4, 4), GUARD)
    run("maximum", torch.empty(shape), out[: shape[0], : shape[2]], isa=isa, shares=2)
    assert bool((out == GUARD).all())


@every_variant("reduce")
@pytest.mark.parametrize("shape", [(13, 333, 1), (2, 77, 333), (1, 200, 100)])
def test_shares_give_the_same_bits(isa, shape):
    x = torch.randn(shape)
    one, many = torch.zeros(shape[0], shape[2]), torch.zeros(shape[0], shape[2])
    run("sum", x, one, isa=isa)
    for shares in (2, 5, 20):
        run("sum", x, many.zero_(), isa=isa, shares=shares)
        assert torch.equal(one, many)
