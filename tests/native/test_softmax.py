"""Every variant of softmax against PyTorch in float64."""

import itertools

import pytest
import torch
from kernel_checks import EPSILON, FLOATS, Rows, assert_within, every_variant

from forge_ugc import native

DIMS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 128, 1001)
TYPES = list(itertools.product(FLOATS, FLOATS))
NAMES = ["-".join(str(t).removeprefix("torch.") for t in types) for types in TYPES]
INF, NAN = float("inf"), float("nan")


def run(x, out, *, isa, log=False, shares=1):
    rows, dim = x.shape
    native.run_kernel(
        "softmax", isa=isa, shares=shares, x=x, x_type=FLOATS[x.dtype], x_stride=x.stride(0),
        out=out, out_type=FLOATS[out.dtype], out_stride=out.stride(0), rows=rows, dim=dim,
        result=int(log),
    )  # fmt: skip


def assert_meets_contract(out, x, *, log=False):
    """The error that csrc/kernels/softmax/softmax.h promises."""
    x = x.double()
    distance = x.amax(-1, keepdim=True) - x
    p = x.softmax(-1)
    mean = (p * distance).nan_to_num(0.0).sum(-1, keepdim=True)
    units = mean + x.shape[-1] / 16 + 12
    if log:
        want = x.log_softmax(-1)
        bound = (distance + want.abs() + units) * EPSILON
    else:
        want = p
        bound = ((distance.clamp(max=104) + units) * EPSILON).nan_to_num(0.0) * p + 2.0**-149
    assert_within(out, want, bound)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@every_variant("softmax")
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("shares", [1, 2, 3, 7])
@pytest.mark.parametrize("dim", DIMS)
def test_sizes_around_vector_widths(isa, dim, shares, log):
    x, out = Rows(torch.randn(5, dim) * 3), Rows(torch.zeros(5, dim), gap=5)
    run(x.view, out.view, isa=isa, shares=shares, log=log)
    assert_meets_contract(out.view, x.view, log=log)
    out.assert_guards()


@every_variant("softmax")
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("x_type", "out_type"), TYPES, ids=NAMES)
@pytest.mark.parametrize("dim", [7, 32, 83])
def test_types(isa, dim, x_type, out_type, log):
    x = Rows((torch.randn(3, dim) * 3).to(x_type))
    out = Rows(torch.zeros(3, dim, dtype=out_type))
    run(x.view, out.view, isa=isa, shares=2, log=log)
    assert_meets_contract(out.view, x.view, log=log)
    out.assert_guards()


@every_variant("softmax")
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 20.0, 1e4, 1e38])
@pytest.mark.parametrize("mean", [0.0, 1e4, -3e38])
def test_magnitudes(isa, scale, mean, log):
    x = (torch.randn(4, 100) * scale + mean).clamp(-3e38, 3e38)
    out = torch.zeros(4, 100)
    run(x, out, isa=isa, log=log)
    if log:
        x, out = x[:, :], out.clamp(min=-3.4e38)  # a difference may overflow float32
        want = x.double().log_softmax(-1).clamp(min=-3.4e38)
        assert_within(out, want, want.abs() * 4 * EPSILON + 20 * EPSILON)
    else:
        assert_meets_contract(out, x)


@every_variant("softmax")
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_results_from_one_to_denormals(isa, dtype, log):
    x = torch.linspace(-110, 0, 4001)[None].to(dtype)
    out = torch.zeros(1, 4001, dtype=dtype)
    run(x, out, isa=isa, log=log)
    assert_meets_contract(out, x, log=log)


@every_variant("softmax")
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_in_place(isa, dtype, log):
    x = torch.randn(5, 45).to(dtype)
    out = x.clone()
    run(out, out, isa=isa, shares=2, log=log)
    assert_meets_contract(out, x, log=log)


@every_variant("softmax")
@pytest.mark.parametrize("shape", [(0, 8), (3, 0), (0, 0)])
def test_empty(isa, shape):
    out = torch.full((4, 4), 7.0)
    run(torch.empty(shape), out[: shape[0]], isa=isa, shares=2)
    assert bool((out == 7.0).all())


@every_variant("softmax")
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [NAN, INF, -INF, 3e38, -3e38])
@pytest.mark.parametrize("at", [0, 16, 36])
def test_special_values_as_in_pytorch(isa, value, at, dtype, log):
    x = torch.randn(3, 37).to(dtype)
    x[1, at] = value
    out = torch.zeros(3, 37, dtype=dtype)
    run(x, out, isa=isa, log=log)
    want = x.float().log_softmax(-1) if log else x.float().softmax(-1)
    assert torch.equal(out.isnan(), want.isnan())
    assert torch.equal(out.isinf(), want.to(dtype).isinf())
    assert_meets_contract(out[[0, 2]], x[[0, 2]], log=log)


@every_variant("softmax")
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dim", [1, 16, 37])
def test_rows_of_infinities_as_in_pytorch(isa, dim, log):
    x = torch.full((4, dim), -INF)
    x[1] = INF
    x[2] = NAN
    x[3, -1] = 2.0
    out = torch.zeros(4, dim)
    run(x, out, isa=isa, log=log)
    want = x.log_softmax(-1) if log else x.softmax(-1)
    torch.testing.assert_close(out, want, rtol=0, atol=0, equal_nan=True)


@every_variant("softmax")
def test_shares_give_the_same_bits(isa):
    x = torch.randn(13, 333)
    one, many = torch.zeros(13, 333), torch.zeros(13, 333)
    run(x, one, isa=isa)
    for shares in (2, 5, 20):
        run(x, many.zero_(), isa=isa, shares=shares)
        assert torch.equal(one, many)
