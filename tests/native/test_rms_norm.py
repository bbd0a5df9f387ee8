"""Every variant of rms_norm against PyTorch in float64."""

import itertools

import pytest
import torch
from kernel_checks import EPSILON, FLOATS, Rows, assert_within, every_variant

from forge_ugc import native

DIMS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 576, 1001)
EPS = 1e-6
TYPES = list(itertools.product(FLOATS, FLOATS, FLOATS))
NAMES = ["-".join(str(t).removeprefix("torch.") for t in types) for types in TYPES]


def exact(x, w, eps, offset=0.0):
    wide = x.double()
    y = wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt()
    return y if w is None else y * (w.double() + offset)


def run(x, w, out, *, isa, x_stride=None, out_stride=None, eps=EPS, offset=0.0, shares=1):
    rows, dim = x.shape
    native.run_kernel(
        "rms_norm", isa=isa, shares=shares, x=x, x_type=FLOATS[x.dtype],
        x_stride=x.stride(0) if x_stride is None else x_stride,
        w=w, w_type=0 if w is None else FLOATS[w.dtype], weight_offset=offset,
        out=out, out_type=FLOATS[out.dtype],
        out_stride=out.stride(0) if out_stride is None else out_stride,
        rows=rows, dim=dim, eps=eps,
    )  # fmt: skip


def bound(want, dim):
    """The error that csrc/kernels/rms_norm/rms_norm.h promises."""
    return want.abs() * (dim / 16 + 10) * EPSILON


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@every_variant("rms_norm")
@pytest.mark.parametrize("shares", [1, 2, 3, 7])
@pytest.mark.parametrize("dim", DIMS)
def test_sizes_around_vector_widths(isa, dim, shares):
    x, w = Rows(torch.randn(5, dim)), torch.randn(dim)
    out = Rows(torch.zeros(5, dim), gap=5)
    run(x.view, w, out.view, isa=isa, shares=shares)
    want = exact(x.view, w, EPS)
    assert_within(out.view, want, bound(want, dim))
    out.assert_guards()


@every_variant("rms_norm")
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("x_type", "w_type", "out_type"), TYPES, ids=NAMES)
@pytest.mark.parametrize("dim", [7, 32, 83])
def test_types(isa, dim, x_type, w_type, out_type, weighted):
    x = Rows(torch.randn(3, dim).to(x_type))
    w = torch.randn(dim).to(w_type) if weighted else None
    out = Rows(torch.zeros(3, dim, dtype=out_type))
    run(x.view, w, out.view, isa=isa, shares=2)
    want = exact(x.view, w, EPS)
    assert_within(out.view, want, bound(want, dim))
    out.assert_guards()


@every_variant("rms_norm")
def test_weight_offset(isa):
    x, w, out = torch.randn(3, 37), torch.rand(37), torch.zeros(3, 37)
    run(x, w, out, isa=isa, offset=1.0)
    want = exact(x, w, EPS, offset=1.0)
    assert_within(out, want, bound(want, 37))


@every_variant("rms_norm")
@pytest.mark.parametrize("scale", [1e-18, 1e-3, 1e3, 1e17])
def test_magnitudes(isa, scale):
    x, w, out = torch.randn(2, 37) * scale, torch.randn(37), torch.zeros(2, 37)
    run(x, w, out, isa=isa)
    want = exact(x, w, EPS)
    assert_within(out, want, bound(want, 37))


@every_variant("rms_norm")
def test_denormals_of_bfloat16(isa):
    x = (torch.randn(2, 37) * 1e-39).bfloat16()
    out = torch.zeros(2, 37, dtype=torch.bfloat16)
    run(x, None, out, isa=isa, eps=1.0)
    want = exact(x, None, 1.0)
    assert bool((want.abs() > 0).any())
    flushed = torch.finfo(torch.bfloat16).smallest_normal if isa == "avx512_bf16" else 0.0
    assert_within(out, want, bound(want, 37) + flushed)


@every_variant("rms_norm")
def test_row_strides(isa):
    w, room = torch.randn(37), torch.randn(6, 64)
    out = torch.zeros(6, 37)
    run(room[5:, :37].expand(6, 37), w, out, isa=isa, x_stride=-64)  # from the last row upwards
    want = exact(room.flip(0)[:, :37], w, EPS)
    assert_within(out, want, bound(want, 37))
    run(room[:1, :37].expand(6, 37), w, out, isa=isa, x_stride=0)
    want = exact(room[:1, :37].expand(6, 37), w, EPS)
    assert_within(out, want, bound(want, 37))


@every_variant("rms_norm")
@pytest.mark.parametrize("dtype", FLOATS)
def test_in_place(isa, dtype):
    x, w = torch.randn(5, 45).to(dtype), torch.randn(45)
    out = x.clone()
    run(out, w, out, isa=isa, shares=2)
    want = exact(x, w, EPS)
    assert_within(out, want, bound(want, 45))


@every_variant("rms_norm")
@pytest.mark.parametrize("shape", [(0, 8), (3, 0), (0, 0)])
def test_empty(isa, shape):
    out = torch.full((4, 4), 7.0)
    run(torch.empty(shape), torch.empty(shape[1]), out[: shape[0]], isa=isa, shares=2)
    assert bool((out == 7.0).all())


@every_variant("rms_norm")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 3e38])
@pytest.mark.parametrize("at", [0, 16, 36])
def test_special_values_as_in_pytorch(isa, value, at, dtype):
    x, w = torch.randn(3, 37).to(dtype), torch.randn(37)
    x[1, at] = value
    out = torch.zeros(3, 37, dtype=dtype)
    run(x, w, out, isa=isa)
    wide = x.float()
    want = (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS) * w).to(dtype)
    assert torch.equal(out.isnan(), want.isnan())
    assert torch.equal(out[1] == 0, want[1] == 0)
    others = exact(x, w, EPS)[[0, 2]]
    assert_within(out[[0, 2]], others, bound(others, 37))


@every_variant("rms_norm")
def test_zero_row_and_zero_eps(isa):
    x, out = torch.zeros(1, 9), torch.ones(1, 9)
    run(x, None, out, isa=isa)
    assert bool((out == 0).all())
    run(x, None, out, isa=isa, eps=0.0)
    assert bool(out.isnan().all())


@every_variant("rms_norm")
def test_shares_give_the_same_bits(isa):
    x, w = torch.randn(13, 333), torch.randn(333)
    one, many = torch.zeros(13, 333), torch.zeros(13, 333)
    run(x, w, one, isa=isa)
    for shares in (2, 5, 20):
        run(x, w, many.zero_(), isa=isa, shares=shares)
        assert torch.equal(one, many)
