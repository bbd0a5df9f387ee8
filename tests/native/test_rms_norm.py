"""Every variant of rms_norm against NumPy in float64."""

import mmap
import subprocess
import sys

import numpy as np
import pytest
import torch

from forge_ugc import native
from forge_ugc.errors import InputError

VARIANTS = [isa for isa in native.kernel_table()["rms_norm"] if isa in native.cpu_isa()]
DIMS = (1, 2, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 576, 1001)
EPS = 1e-6


def reference(x, w, eps):
    wide = x.astype(np.float64)
    y = wide / np.sqrt(np.mean(wide * wide, axis=-1, keepdims=True) + eps)
    return y if w is None else y * w.astype(np.float64)


def bound(dim):
    """The relative error that csrc/kernels/rms_norm/rms_norm.h promises."""
    return (dim / 16 + 8) * 2.0**-24


def assert_meets_contract(got, x, w, eps=EPS):
    want = reference(x, w, eps)
    assert np.all(np.abs(got - want) <= bound(x.shape[-1]) * np.abs(want))


def data(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(params=VARIANTS)
def isa(request):
    return request.param


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dim", DIMS)
def test_sizes_around_vector_widths(isa, dim, weighted):
    x, w = data(3, dim), data(dim, seed=1) if weighted else None
    out = np.full_like(x, np.nan)
    native.rms_norm(x, w, EPS, out=out, isa=isa)
    assert_meets_contract(out, x, w)


@pytest.mark.parametrize("scale", [1e-18, 1e-3, 1e3, 1e17])
def test_magnitudes(isa, scale):
    x, w = data(2, 37) * np.float32(scale), data(37, seed=1)
    out = np.empty_like(x)
    native.rms_norm(x, w, EPS, out=out, isa=isa)
    assert_meets_contract(out, x, w)


@pytest.mark.parametrize(
    ("x_view", "out_view"),
    [
        (lambda a: a[:, 3:40], lambda a: a[:, 1:38]),
        (lambda a: a[::2, :37], lambda a: a[1::2, :37]),
        (lambda a: a[::-1, :37], lambda a: a[:, :37]),
        (lambda a: a[:, :37], lambda a: a[::-1, :37]),
        (lambda a: a[0, :37], lambda a: a[1, :37]),
        (lambda a: np.broadcast_to(a[0, :37], (6, 37)), lambda a: a[:, :37]),
        (lambda a: a[:, :1].T[:, :1], lambda a: a[:1, :1]),
    ],
    ids=["offset", "skipped", "reversed", "reversed-out", "vector", "repeated", "one"],
)
def test_row_strides(isa, x_view, out_view):
    x = x_view(data(6, 64))
    room = np.full((6, 64), 7.0, np.float32)
    out = out_view(room)[: x.shape[0]]
    w = data(x.shape[-1], seed=1)
    native.rms_norm(x, w, EPS, out=out, isa=isa)
    assert_meets_contract(out, x, w)
    out[...] = 7.0
    assert np.all(room == 7.0), "wrote outside out"


def test_axes_of_any_order(isa):
    x = data(4, 2, 3, 19).transpose(2, 0, 1, 3)
    out = np.empty((2, 3, 4, 19), np.float32).transpose(1, 2, 0, 3)
    w = data(19, seed=1)
    native.rms_norm(x, w, EPS, out=out, isa=isa)
    assert_meets_contract(out, x, w)


def test_in_place(isa):
    x, w = data(2, 3, 45), data(45, seed=1)
    out = x.copy()
    native.rms_norm(out, w, EPS, out=out, isa=isa)
    assert_meets_contract(out, x, w)


@pytest.mark.parametrize("shape", [(0,), (0, 8), (3, 0), (2, 0, 8), (0, 2, 8)])
def test_empty(isa, shape):
    out = np.empty(shape, np.float32)
    native.rms_norm(np.empty(shape, np.float32), data(shape[-1]), EPS, out=out, isa=isa)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("at", [0, 16, 36])
def test_special_values_as_in_pytorch(isa, value, at):
    x, w = data(3, 37), data(37, seed=1)
    x[1, at] = value
    out = np.empty_like(x)
    native.rms_norm(x, w, EPS, out=out, isa=isa)
    t = torch.from_numpy(x)
    want = t * torch.rsqrt(t.pow(2).mean(-1, keepdim=True) + EPS) * torch.from_numpy(w)
    np.testing.assert_array_equal(np.isnan(out), want.isnan().numpy())
    np.testing.assert_array_equal(out[1] == 0, (want[1] == 0).numpy())
    assert_meets_contract(out[[0, 2]], x[[0, 2]], w)


def test_zero_row_and_zero_eps(isa):
    x = np.zeros((1, 9), np.float32)
    out = np.empty_like(x)
    native.rms_norm(x, None, EPS, out=out, isa=isa)
    assert np.all(out == 0)
    native.rms_norm(x, None, 0.0, out=out, isa=isa)
    assert np.all(np.isnan(out))


def test_torch_tensors(isa):
    x, w = torch.from_numpy(data(2, 5, 33)), torch.from_numpy(data(33, seed=1))
    out = torch.empty(5, 2, 33).transpose(0, 1)
    native.rms_norm(x, w, EPS, out=out, isa=isa)
    assert_meets_contract(out.numpy(), x.numpy(), w.numpy())


def test_default_is_the_best_variant():
    x, w = data(3, 1000), data(1000, seed=1)
    best, default = np.empty_like(x), np.empty_like(x)
    native.rms_norm(x, w, EPS, out=default)
    native.rms_norm(x, w, EPS, out=best, isa=VARIANTS[0])
    np.testing.assert_array_equal(default, best)


def test_reads_and_writes_stay_inside(isa):
    """Each array ends where a page that may not be touched begins."""
    code = """
import ctypes, mmap, sys
import numpy as np
from forge_ugc import native
size = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
def guarded(dim):
    pages = mmap.mmap(-1, 2 * size)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert libc.mprotect(ctypes.c_void_p(start + size), size, 0) == 0
    return np.frombuffer(pages, np.float32, dim, size - 4 * dim)
for dim in range(1, 70):
    x, w, out = guarded(dim), guarded(dim), guarded(dim)
    x[:], w[:] = 1.0, 2.0
    native.rms_norm(x, w, 0.0, out=out, isa=sys.argv[1])
    assert np.all(out == 2.0), dim
print("inside")
"""
    command = [sys.executable, "-c", code, isa]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (got.returncode, got.stdout) == (0, "inside\n"), got.stderr
    assert mmap.PAGESIZE >= 4 * 70


def refused(*, x=None, w=None, out=None, isa=None):
    x = data(2, 8) if x is None else x
    out = np.empty_like(x) if out is None else out
    with pytest.raises(InputError) as caught:
        native.rms_norm(x, w, EPS, out=out, isa=isa)
    return str(caught.value)


def test_refusals_name_both_sides():
    room = data(4, 8)
    assert refused(x=np.float32(1).reshape(())) == (
        "rms_norm: x has no axis, expected at least one"
    )
    assert refused(out=data(2, 7)) == "rms_norm: out is [2, 7], expected [2, 8] as x"
    assert refused(out=data(16)) == "rms_norm: out is [16], expected [2, 8] as x"
    assert refused(w=data(7)) == "rms_norm: w is [7], expected [8]"
    assert refused(w=data(1, 8)) == "rms_norm: w is [1, 8], expected [8]"
    assert refused(x=data(2, 16)[:, ::2]) == (
        "rms_norm: x has stride 2 on the last axis, expected 1"
    )
    assert refused(out=data(2, 8)[:, ::-1]) == (
        "rms_norm: out has stride -1 on the last axis, expected 1"
    )
    assert refused(w=data(16)[::2]) == "rms_norm: w has stride 2 on the last axis, expected 1"
    assert refused(x=room[:2], out=room[1:3]) == "rms_norm: out overlaps x without being x"
    assert refused(x=room[:2], out=room[1::-1]) == "rms_norm: out overlaps x without being x"
    assert refused(w=room[0], out=room[:2]) == "rms_norm: out overlaps w"


def test_refuses_an_output_that_overlaps_itself():
    out = torch.empty(8).expand(2, 8)
    assert refused(out=out) == "rms_norm: two elements of out share one address"
    out = torch.empty(16).as_strided((2, 8), (4, 1))
    assert refused(out=out) == "rms_norm: two elements of out share one address"


def test_refuses_unknown_variants():
    assert refused(isa="avx9").startswith("rms_norm: no variant for 'avx9', expected one of ")
    assert refused(isa="avx512_bf16").startswith("rms_norm: no variant for 'avx512_bf16'")


def test_refuses_other_types():
    read_only = np.zeros((2, 8), np.float32)
    read_only.flags.writeable = False
    assert refused(x=data(2, 8).astype(np.float64), out=read_only) == (
        "rms_norm takes float32 arrays in CPU memory, of which out can be written\n"
        "  why: x is float64 on cpu, w is NoneType, eps is float, "
        "out is float32 on cpu (read-only)"
    )
    assert "out is float32 on cpu (read-only)" in refused(out=read_only)
    assert "out is torch.bfloat16 on cpu" in refused(out=torch.empty(2, 8, dtype=torch.bfloat16))
