"""The kernels quantize_rows and quantize_weights on every instruction set of this machine."""

import pytest
import torch

from forge_ugc import native

TYPES = {0: torch.float32, 1: torch.bfloat16}
DEPTHS = (0, 1, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200, 777)
GUARD = 55


@pytest.fixture(params=native.kernel_table()["quantize_rows"])
def isa(request):
    if request.param not in native.cpu_isa():
        pytest.skip(f"no {request.param} here")
    return request.param


def expected(x):
    """q and scale as quantize.h states them; PyTorch rounds each step as the kernel does."""
    x = x.float()
    m = x.abs().amax(-1, keepdim=True) if x.shape[-1] else x.new_zeros(len(x), 1)
    scale = (m.double() / 127).float()
    lift = torch.where(m < 2.0**-100, 2.0**100, 1.0)
    factor = torch.full_like(m, 127) / (m * lift)  # 127 / m would multiply by a reciprocal
    q = (x * lift * factor).round()
    usable = m.isfinite() & (scale > 0)
    scale = torch.where(m.isfinite(), scale, torch.nan)
    return torch.where(usable, q, 0.0).to(torch.int8), scale[:, 0]


def quantize(x, *, isa, padding=0, shares=1):
    """q with everything around it, and the scales; `x` is a view with adjacent elements."""
    rows, depth = x.shape
    stride = depth + padding
    q = torch.full((rows, stride), GUARD, dtype=torch.int8)
    scale = torch.full((rows,), 7.0)
    kind = {dtype: number for number, dtype in TYPES.items()}[x.dtype]
    native.run_kernel(
        "quantize_rows", isa=isa, shares=shares, x=x, x_type=kind, x_stride=x.stride(0),
        rows=rows, depth=depth, q=q, q_stride=stride, scale=scale,
    )  # fmt: skip
    return q, scale


def quantize_weights(w, *, isa, shares=1):
    rows, depth = w.shape
    q = torch.full((rows, depth + 3), GUARD, dtype=torch.int8)
    scale = torch.full((rows,), 7.0)
    kind = {dtype: number for number, dtype in TYPES.items()}[w.dtype]
    native.run_kernel(
        "quantize_weights", isa=isa, shares=shares, w=w, w_type=kind, row_stride=w.stride(0),
        depth_stride=w.stride(1), rows=rows, depth=depth, q=q, q_stride=depth + 3, scale=scale,
    )  # fmt: skip
    assert bool((q[:, depth:] == GUARD).all()), "wrote outside q"
    return q[:, :depth], scale


def sample(rows, depth, dtype=torch.float32):
    torch.manual_seed(depth)
    return (torch.randn(rows, depth) * torch.logspace(-30, 30, rows)[:, None]).to(dtype)


@pytest.mark.parametrize("dtype", TYPES.values(), ids=str)
@pytest.mark.parametrize("depth", DEPTHS)
def test_rows_have_the_bits_of_the_formula(isa, depth, dtype):
    for rows in (0, 1, 5):
        x = sample(rows, depth + 3, dtype)[:, :depth]
        q, scale = expected(x)
        for shares in (1, 2, 7):
            got, got_scale = quantize(x, isa=isa, shares=shares)
            assert torch.equal(got, q)
            assert torch.equal(got_scale, scale)


@pytest.mark.parametrize("depth", DEPTHS)
def test_error_stays_within_the_bound(isa, depth):
    x = sample(5, depth)
    q, scale = quantize(x, isa=isa)
    error = (x.double() - q.double() * scale.double()[:, None]).abs()
    assert bool((error <= scale.double()[:, None] * (0.5 + 127 * 2.0**-22)).all())
    if depth:
        assert bool((q.int().abs().amax(-1) == 127).all())


@pytest.mark.parametrize("depth", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("beyond", [-1, 0, 5])
def test_padding_is_cleared_if_the_stride_holds_it(isa, depth, beyond):
    room = -depth % 64
    padding = max(room + beyond, 0)
    q, _ = quantize(sample(4, depth), isa=isa, padding=padding)
    cleared = room if padding >= room else 0
    assert bool((q[:, depth : depth + cleared] == 0).all())
    assert bool((q[:, depth + cleared :] == GUARD).all())


def test_ties_round_to_even(isa):
    x = torch.tensor([[127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, -126.5]])
    q, scale = quantize(x, isa=isa)
    assert q.tolist() == [[127, 0, 2, 2, 0, -2, -2, 126, -126]]
    assert scale.tolist() == [1.0]


@pytest.mark.parametrize("at", [0, 15, 64, 69])
@pytest.mark.parametrize("value", [torch.nan, -torch.nan, torch.inf, -torch.inf])
def test_a_row_that_is_not_finite_has_scale_nan(isa, value, at):
    x = sample(3, 70)
    want, want_scale = expected(x)
    x[1, at] = value
    want[1] = 0
    for got, scale in (quantize(x, isa=isa), quantize_weights(x, isa=isa)):
        assert torch.equal(got, want)
        assert bool(scale[1].isnan())
        assert torch.equal(scale[[0, 2]], want_scale[[0, 2]])


@pytest.mark.parametrize("largest", [0.0, 2.0**-149, 63 * 2.0**-149, 2.0**-143, 1e-40, 3e-37, 3e38])
def test_extreme_rows(isa, largest):
    """Zeros, denormals, and rows for which 127 / max or 127 * x overflow."""
    x = torch.linspace(-1, 1, 67)[None] * largest
    q, scale = quantize(x, isa=isa)
    want, want_scale = expected(x)
    assert torch.equal(q, want)
    assert torch.equal(scale, want_scale)
    error = (x.double() - q.double() * scale.double()).abs()
    bound = scale.double() * (0.5 + 127 * 2.0**-22) + 127 * 2.0**-150
    assert bool((error <= bound).all())


@pytest.mark.parametrize("dtype", TYPES.values(), ids=str)
@pytest.mark.parametrize(
    "view",
    [
        lambda w: w,
        lambda w: w.T,
        lambda w: w[::2, 1::3],
        lambda w: w[:, 3:100],
        lambda w: w[3:100].T,
        lambda w: w[:1].expand(80, -1),
        lambda w: w[:, :1].expand(-1, 80),
        lambda w: w[:0],
        lambda w: w[:, :0],
        lambda w: w.T[:, :0],
    ],
)
def test_weights_of_any_strides(isa, view, dtype):
    w = view(sample(150, 205, dtype))
    want, want_scale = expected(w)
    for shares in (1, 3):
        q, scale = quantize_weights(w, isa=isa, shares=shares)
        assert torch.equal(q, want)
        assert torch.equal(scale, want_scale)


def test_transposed_weights_keep_special_rows_apart(isa):
    w = sample(150, 90).T.contiguous().T
    w[3, 5], w[64, 89], w[100] = torch.nan, torch.inf, 0.0
    q, scale = quantize_weights(w, isa=isa)
    want, want_scale = expected(w)
    assert torch.equal(q, want)
    assert torch.equal(scale.nan_to_num(nan=-1.0), want_scale.nan_to_num(nan=-1.0))
