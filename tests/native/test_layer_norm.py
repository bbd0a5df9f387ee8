"""Every variant of layer_norm against PyTorch in float64."""

import itertools

import pytest
import torch
from kernel_checks import EPSILON, FLOATS, Rows, assert_within, every_variant

from forge_ugc import native

DIMS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 576, 1001)
EPS = 1e-5
TYPES = list(itertools.product(FLOATS, FLOATS, FLOATS))
NAMES = ["-".join(str(t).removeprefix("torch.") for t in types) for types in TYPES]


def wide(t):
    return None if t is None else t.double()


def exact(x, w, bias, eps):
    return torch.nn.functional.layer_norm(x.double(), x.shape[-1:], wide(w), wide(bias), eps)


def run(x, w, bias, out, *, isa, eps=EPS, shares=1, mean=None, rstd=None):
    rows, dim = x.shape
    parameter = bias if w is None else w
    native.run_kernel(
        "layer_norm", isa=isa, shares=shares, x=x, x_type=FLOATS[x.dtype], x_stride=x.stride(0),
        w=w, bias=bias, w_type=0 if parameter is None else FLOATS[parameter.dtype],
        out=out, out_type=FLOATS[out.dtype], out_stride=out.stride(0), mean=mean, rstd=rstd,
        rows=rows, dim=dim, eps=eps,
    )  # fmt: skip


def bound(x, w, eps):
    """The error that csrc/kernels/layer_norm/layer_norm.h promises."""
    x = x.double()
    e = (x.shape[-1] / 16 + 8) * EPSILON
    deviation = (x.var(-1, unbiased=False, keepdim=True) + eps).sqrt()
    y = (x - x.mean(-1, keepdim=True)) / deviation
    found = e * x.abs().mean(-1, keepdim=True) / deviation + y.abs() * (e + 8 * EPSILON)
    return found if w is None else found * w.double().abs()


def assert_meets_contract(out, x, w, bias, eps=EPS):
    want = exact(x, w, bias, eps)
    assert_within(out, want, bound(x, w, eps) + want.abs() * EPSILON)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@every_variant("layer_norm")
@pytest.mark.parametrize("shares", [1, 2, 3, 7])
@pytest.mark.parametrize("dim", DIMS)
def test_sizes_around_vector_widths(isa, dim, shares):
    x, w, bias = Rows(torch.randn(5, dim) + 0.5), torch.randn(dim), torch.randn(dim)
    out = Rows(torch.zeros(5, dim), gap=5)
    run(x.view, w, bias, out.view, isa=isa, shares=shares)
    assert_meets_contract(out.view, x.view, w, bias)
    out.assert_guards()


@every_variant("layer_norm")
@pytest.mark.parametrize(("weighted", "biased"), list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize(("x_type", "w_type", "out_type"), TYPES, ids=NAMES)
@pytest.mark.parametrize("dim", [7, 32, 83])
def test_types(isa, dim, x_type, w_type, out_type, weighted, biased):
    x = Rows(torch.randn(3, dim).to(x_type))
    w = torch.randn(dim).to(w_type) if weighted else None
    bias = torch.randn(dim).to(w_type) if biased else None
    out = Rows(torch.zeros(3, dim, dtype=out_type))
    run(x.view, w, bias, out.view, isa=isa, shares=2)
    assert_meets_contract(out.view, x.view, w, bias)
    out.assert_guards()


@every_variant("layer_norm")
@pytest.mark.parametrize("mean", [0.0, 100.0, -1e6])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_magnitudes(isa, scale, mean):
    x, w, bias = torch.randn(2, 100) * scale + mean, torch.randn(100), torch.randn(100)
    out = torch.zeros(2, 100)
    run(x, w, bias, out, isa=isa)
    assert_meets_contract(out, x, w, bias)


@every_variant("layer_norm")
def test_moments(isa):
    x, out = torch.randn(5, 50) + 3, torch.zeros(5, 50)
    mean, rstd = torch.zeros(5), torch.zeros(5)
    run(x, None, None, out, isa=isa, shares=2, mean=mean, rstd=rstd)
    wide_mean = x.double().mean(-1)
    e = (50 / 16 + 8) * EPSILON
    assert_within(mean, wide_mean, e * x.double().abs().mean(-1))
    want = 1 / (x.double().var(-1, unbiased=False) + EPS).sqrt()
    # The squared error of the mean adds to the variance.
    shift = (e * x.double().abs().mean(-1) * want) ** 2
    assert_within(rstd, want, want * (e + shift + 8 * EPSILON))
    assert_meets_contract(out, x, None, None)


@every_variant("layer_norm")
@pytest.mark.parametrize("dtype", FLOATS)
def test_in_place(isa, dtype):
    x, w = torch.randn(5, 45).to(dtype), torch.randn(45)
    out = x.clone()
    run(out, w, w, out, isa=isa, shares=2)
    assert_meets_contract(out, x, w, w)


@every_variant("layer_norm")
@pytest.mark.parametrize("shape", [(0, 8), (3, 0), (0, 0)])
def test_empty(isa, shape):
    out = torch.full((4, 4), 7.0)
    w = torch.empty(shape[1])
    run(torch.empty(shape), w, w, out[: shape[0]], isa=isa, shares=2)
    assert bool((out == 7.0).all())


@every_variant("layer_norm")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 3e38, -1e30])
@pytest.mark.parametrize("at", [0, 16, 36])
def test_special_values_as_in_pytorch(isa, value, at, dtype):
    x, w, bias = torch.randn(3, 37).to(dtype), torch.randn(37), torch.randn(37)
    x[1, at] = value
    out = torch.zeros(3, 37, dtype=dtype)
    run(x, w, bias, out, isa=isa)
    want = torch.nn.functional.layer_norm(x.float(), (37,), w, bias, EPS)
    assert torch.equal(out.isnan(), want.isnan())
    if not want.isnan().any():
        assert_within(out[1], want[1].double(), torch.zeros(37))
    assert_meets_contract(out[[0, 2]], x[[0, 2]], w, bias)


@every_variant("layer_norm")
def test_a_sum_that_overflows(isa):
    x, bias = torch.full((3, 40), 3e38), torch.randn(40)
    x[1, ::2] = -3e38
    x[2] = -3e38
    out = torch.zeros(3, 40)
    run(x, None, bias, out, isa=isa)
    assert torch.equal(out[1], bias)  # the variance overflows
    for row in (0, 2):  # a mean that is off by its own rounding would overflow the variance as well
        assert bool(out[row].isfinite().all())


@every_variant("layer_norm")
def test_constant_row_and_zero_eps(isa):
    x, out = torch.full((1, 9), 2.0), torch.ones(1, 9)
    run(x, None, None, out, isa=isa)
    assert bool((out == 0).all())
    run(x, None, None, out, isa=isa, eps=0.0)
    assert bool(out.isnan().all())


@every_variant("layer_norm")
def test_shares_give_the_same_bits(isa):
    x, w = torch.randn(13, 333), torch.randn(333)
    one, many = torch.zeros(13, 333), torch.zeros(13, 333)
    run(x, w, w, one, isa=isa)
    for shares in (2, 5, 20):
        run(x, w, w, many.zero_(), isa=isa, shares=shares)
        assert torch.equal(one, many)
