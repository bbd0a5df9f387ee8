"""Every variant of rotary against PyTorch: bit for bit in float32, by a bound otherwise."""

import itertools

import pytest
import torch
from kernel_checks import EPSILON, FLOATS, GUARD, assert_within, every_variant

from forge_ugc import native
from forge_ugc.ops.rotary import Rotary

TYPES = list(itertools.product(FLOATS, FLOATS, FLOATS))
NAMES = ["-".join(str(t).removeprefix("torch.") for t in types) for types in TYPES]


def run(x, cos, sin, out, *, isa, interleaved=False, turned=None, shares=1):
    """x and out are [I, J, K, D]; cos and sin are broadcast to them."""
    turned = x.shape[-1] if turned is None else turned
    tables = [t.expand(*x.shape[:-1], t.shape[-1]) for t in (cos, sin)]
    native.run_kernel(
        "rotary", isa=isa, shares=shares,
        x=x, x_type=FLOATS[x.dtype], x_strides=list(x.stride()[:-1]),
        cos=cos, cos_strides=list(tables[0].stride()[:-1]),
        sin=sin, sin_strides=list(tables[1].stride()[:-1]),
        table_type=FLOATS[cos.dtype], table=int(cos.shape[-1] != turned), pairs=int(interleaved),
        out=out, out_type=FLOATS[out.dtype], out_strides=list(out.stride()[:-1]),
        sizes=list(x.shape[:-1]), dim=x.shape[-1], turned=turned,
    )  # fmt: skip


def reference(x, cos, sin, interleaved=False, turned=None):
    return Rotary(interleaved=interleaved, rotary_dim=turned).eval(x, cos, sin)


def assert_meets_contract(out, x, cos, sin, interleaved=False, turned=None):
    if {x.dtype, cos.dtype, out.dtype} == {torch.float32}:
        assert torch.equal(out, reference(x, cos, sin, interleaved, turned))
        return
    wide = [t.double() for t in (x, cos, sin)]
    want = reference(*wide, interleaved, turned)
    # The magnitudes of both products: b sin with a minus that the sign of b undoes.
    a, c, s = (t.abs() for t in wide)
    sizes = (
        reference(a, c, s, interleaved, turned).abs()
        + 2 * reference(a, torch.zeros_like(c), s, interleaved, turned).abs()
    )
    assert_within(out, want, 2 * EPSILON * sizes)


def tables(lead, dim, dtype=torch.float32):
    return torch.randn(*lead, dim).to(dtype), torch.randn(*lead, dim).to(dtype)


def guarded(shape, dtype, order=(0, 1, 2, 3)):
    """A view of that shape inside of guards, its axes in memory in that order."""
    inner = [shape[axis] for axis in order]
    room = torch.full([n + 2 for n in inner[:-1]] + [inner[-1] + 6], GUARD, dtype=dtype)
    view = room[tuple(slice(1, 1 + n) for n in inner[:-1])][..., 3 : 3 + inner[-1]]
    return room, view.permute([order.index(axis) for axis in range(4)])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@every_variant("rotary")
@pytest.mark.parametrize("shares", [1, 2, 5])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("per_pair", [False, True])
@pytest.mark.parametrize("dim", [2, 4, 6, 8, 14, 16, 18, 30, 32, 34, 64, 80, 96, 128])
def test_sizes_around_vector_widths(isa, dim, per_pair, interleaved, shares):
    x = torch.randn(2, 3, 5, dim)
    cos, sin = tables((5,), dim // 2 if per_pair else dim)
    room, out = guarded(x.shape, torch.float32)
    run(x, cos, sin, out, isa=isa, interleaved=interleaved, shares=shares)
    assert_meets_contract(out, x, cos, sin, interleaved)
    out.fill_(GUARD)
    assert bool((room == GUARD).all())


@every_variant("rotary")
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("per_pair", [False, True])
@pytest.mark.parametrize(("dim", "turned"), [(64, 16), (80, 32), (20, 10), (37, 12), (33, 32)])
def test_elements_that_pass_through(isa, dim, turned, per_pair, interleaved):
    x = torch.randn(1, 2, 5, dim)
    cos, sin = tables((5,), turned // 2 if per_pair else turned)
    room, out = guarded(x.shape, torch.float32)
    run(x, cos, sin, out, isa=isa, interleaved=interleaved, turned=turned, shares=2)
    assert_meets_contract(out, x, cos, sin, interleaved, turned)
    out.fill_(GUARD)
    assert bool((room == GUARD).all())


@every_variant("rotary")
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("per_pair", [False, True])
@pytest.mark.parametrize(("x_type", "table_type", "out_type"), TYPES, ids=NAMES)
@pytest.mark.parametrize("dim", [8, 18, 64])
def test_types(isa, dim, x_type, table_type, out_type, per_pair, interleaved):
    x = torch.randn(2, 3, 4, dim).to(x_type)
    cos, sin = tables((4,), dim // 2 if per_pair else dim, table_type)
    room, out = guarded(x.shape, out_type)
    run(x, cos, sin, out, isa=isa, interleaved=interleaved, shares=2)
    assert_meets_contract(out, x, cos, sin, interleaved)
    out.fill_(GUARD)
    assert bool((room == GUARD).all())


@every_variant("rotary")
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("lead", [(), (5,), (1, 5), (3, 1), (3, 5), (2, 1, 5), (2, 3, 5)])
def test_broadcast_tables(isa, lead, interleaved):
    x = torch.randn(2, 3, 5, 12)
    cos, sin = tables(lead, 12)
    out = torch.zeros(2, 3, 5, 12)
    run(x, cos, sin, out, isa=isa, interleaved=interleaved, shares=3)
    assert_meets_contract(out, x, cos, sin, interleaved)


@every_variant("rotary")
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (2, 1, 0, 3)])
@pytest.mark.parametrize("out_order", [(0, 1, 2, 3), (1, 2, 0, 3)])
def test_strides(isa, order, out_order):
    _, x = guarded((2, 3, 5, 24), torch.float32, order)
    x.copy_(torch.randn(x.shape))
    cos, sin = torch.randn(24, 5).T.contiguous(), torch.randn(5, 40)[:, 7:31]
    room, out = guarded(x.shape, torch.float32, out_order)
    run(x, cos, sin, out, isa=isa, shares=4)
    assert_meets_contract(out, x, cos, sin)
    out.fill_(GUARD)
    assert bool((room == GUARD).all())


@every_variant("rotary")
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_in_place(isa, dtype, interleaved):
    x = torch.randn(2, 3, 4, 44).to(dtype)
    cos, sin = tables((4,), 36)
    out = x.clone()
    run(out, cos, sin, out, isa=isa, interleaved=interleaved, turned=36, shares=2)
    assert_meets_contract(out, x, cos, sin, interleaved, 36)


@every_variant("rotary")
@pytest.mark.parametrize("shape", [(0, 2, 3, 8), (2, 0, 3, 8), (2, 3, 0, 8)])
def test_empty(isa, shape):
    out = torch.full((8, 8), GUARD)
    cos, sin = tables((), 8)
    native.run_kernel(
        "rotary", isa=isa, shares=2, x=torch.empty(shape), x_type=0, x_strides=[8, 8, 8],
        cos=cos, cos_strides=[0, 0, 0], sin=sin, sin_strides=[0, 0, 0], table_type=0, table=0,
        pairs=0, out=out, out_type=0, out_strides=[8, 8, 8], sizes=list(shape[:-1]), dim=8,
        turned=8,
    )  # fmt: skip
    assert bool((out == GUARD).all())


@every_variant("rotary")
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 3e38, 1e-45])
@pytest.mark.parametrize("at", [0, 17, 33, 35])
def test_special_values_as_in_pytorch(isa, value, at, interleaved):
    x = torch.randn(1, 2, 3, 36)
    x[0, 1, 1, at] = value
    cos, sin = tables((3,), 34)
    sin[2, 5] = value
    out = torch.zeros(1, 2, 3, 36)
    run(x, cos, sin, out, isa=isa, interleaved=interleaved, turned=34)
    want = reference(x, cos, sin, interleaved, 34)
    torch.testing.assert_close(out, want, rtol=0, atol=0, equal_nan=True)
