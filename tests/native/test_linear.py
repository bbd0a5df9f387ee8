"""Every variant of linear and gated_linear against NumPy in float64."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from forge_ugc import native

VARIANTS = [isa for isa in native.kernel_table()["linear_f32"] if isa in native.cpu_isa()]
ROWS = range(1, 18)
# Around one, two and six vectors of every variant, and around one, two and three panels.
COLUMNS = (1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 65, 79, 96, 97, 111, 145)
DEPTHS = (0, 1, 3, 4, 5, 64, 129)
U = 2.0**-24  # half a unit in the last place of 1


def data(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def problem(m, n, k):
    """x, w, bias, residual."""
    return data(m, k), data(n, k, seed=1), data(n, seed=2), data(m, n, seed=3)


def product(x, w, bias=None, residual=None, activation="none", *, isa, shares=1, out=None):
    out = np.full((x.shape[0], w.shape[0]), np.nan, np.float32) if out is None else out
    packed = native.linear_pack(w, isa=isa)
    native.linear(x, packed, bias, residual, activation, out=out, shares=shares)
    return out


def assert_meets_contract(got, x, w, bias=None, residual=None):
    """The error that csrc/kernels/linear/linear.h promises, without an activation."""
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    u = x.shape[1] * U
    want, error = x @ w.T, u / (1 - u) * (np.abs(x) @ np.abs(w).T)
    for term in (bias, residual):
        if term is not None:
            want = want + term
            error = (error + U * np.abs(want)) / (1 - U)
    assert got.dtype == np.float32
    assert got.shape == want.shape
    # float64 rounds too, by as much as 2^-29 of what float32 does.
    assert np.all(np.abs(got - want) <= error * (1 + 2.0**-20))


@pytest.fixture(params=VARIANTS)
def isa(request):
    return request.param


@pytest.mark.parametrize("k", DEPTHS)
def test_sizes_around_tiles(isa, k):
    for n in COLUMNS:
        packed = native.linear_pack(data(n, k, seed=1), isa=isa)
        for m in ROWS:
            x, w, bias, residual = problem(m, n, k)
            out = np.full((m, n), np.nan, np.float32)
            native.linear(x, packed, bias, residual, out=out)
            assert_meets_contract(out, x, w, bias, residual)
            native.linear(x, packed, out=out)
            assert_meets_contract(out, x, w)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 200, 8192), (9, 50, 8191), (130, 300, 97)])
def test_larger_sizes(isa, m, n, k):
    x, w, bias, residual = problem(m, n, k)
    assert_meets_contract(product(x, w, bias, residual, isa=isa), x, w, bias, residual)


def test_small_integers_are_exact(isa):
    """An index that is off by one shows whatever the bound allows."""
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-9, 10, shape).astype(np.float32) for shape in ((13, 77), (115, 77)))
    np.testing.assert_array_equal(product(x, w, isa=isa), x @ w.T)


@pytest.mark.parametrize("shape", [(0, 5, 7), (3, 0, 7), (0, 0, 7), (0, 0, 0), (0, 5, 0)])
def test_empty(isa, shape):
    m, n, k = shape
    x, w, bias, residual = problem(m, n, k)
    assert product(x, w, bias, residual, "gelu", isa=isa, shares=3).shape == (m, n)


def test_without_depth_the_sum_is_zero(isa):
    x, w, bias, residual = problem(3, 50, 0)
    np.testing.assert_array_equal(product(x, w, isa=isa), np.zeros((3, 50)))
    np.testing.assert_array_equal(product(x, w, bias, residual, isa=isa), bias + residual)


@pytest.mark.parametrize("m", [1, 4, 5, 8, 9, 16, 17, 40])
def test_any_number_of_shares_gives_the_same_bits(isa, m):
    for n in (5, 48, 96, 149, 330):
        x, w, bias, residual = problem(m, n, 37)
        want = product(x, w, bias, residual, "silu", isa=isa)
        for shares in (2, 3, 4, 6, 50):
            # In place, a share that does the work of another one would add twice.
            out = residual.copy()
            product(x, w, bias, out, "silu", isa=isa, shares=shares, out=out)
            np.testing.assert_array_equal(out, want)


def test_a_row_gives_the_same_bits_in_any_batch(isa):
    x, w, bias, residual = problem(17, 149, 65)
    want = product(x, w, bias, residual, "gelu", isa=isa)
    for m in ROWS:
        got = product(x[:m], w, bias, residual[:m], "gelu", isa=isa)
        np.testing.assert_array_equal(got, want[:m])


@pytest.mark.parametrize("activation", ["none", "relu", "gelu", "gelu_tanh", "silu"])
def test_epilogues_are_their_parts(isa, activation):
    """Fused or one after another, rounding is the same."""
    x, w, bias, residual = problem(11, 101, 33)
    plain = product(x, w, isa=isa)
    activated = np.empty_like(plain)
    none = native.linear_pack(np.empty((plain.size, 0), np.float32), isa=isa)
    native.linear(
        np.empty((1, 0), np.float32),
        none,
        (plain + bias).reshape(-1),
        activation=activation,
        out=activated.reshape(1, -1),
    )
    np.testing.assert_array_equal(product(x, w, bias, None, activation, isa=isa), activated)
    got = product(x, w, bias, residual, activation, isa=isa)
    np.testing.assert_array_equal(got, activated + residual)

    up, up_bias = data(101, 33, seed=4), data(101, seed=5)
    gate_packed, up_packed = (native.linear_pack(each, isa=isa) for each in (w, up))
    want = activated * product(x, up, up_bias, isa=isa)
    for m in (1, 3, 5, 11):
        for shares in (1, 2, 4):
            out = np.full((m, 101), np.nan, np.float32)
            native.gated_linear(
                x[:m], gate_packed, up_packed, bias, up_bias, activation, out=out, shares=shares
            )
            np.testing.assert_array_equal(out, want[:m])
    native.gated_linear(x, gate_packed, up_packed, activation=activation, out=out)
    want = product(x, w, None, None, activation, isa=isa) * product(x, up, isa=isa)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:, 3:40],
        lambda a: a[::2, :37],
        lambda a: a[::-1, :37],
        lambda a: np.broadcast_to(a[0, :37], (9, 37)),
    ],
    ids=["offset", "skipped", "reversed", "repeated"],
)
def test_strides_of_rows(isa, view):
    x = view(data(20, 64))
    _, w, bias, _ = problem(0, 55, 37)
    residual = view(data(20, 128, seed=3)[:, :60])[:, :30]
    want = product(x.copy(), w[:30], bias[:30], residual.copy(), isa=isa)
    room = np.full((60, 64), 7.0, np.float32)
    for out in (room[3 : 3 + 2 * len(x) : 2, 5:35], room[len(x) :: -1, 1:31][: len(x)]):
        product(x, w[:30], bias[:30], residual, isa=isa, out=out)
        np.testing.assert_array_equal(out, want)
        out[...] = 7.0
        assert np.all(room == 7.0), "wrote outside out"


def test_residual_in_place(isa):
    x, w, bias, residual = problem(10, 70, 20)
    want = product(x, w, bias, residual, "relu", isa=isa)
    room = np.zeros((10, 100), np.float32)
    room[:, 4:74] = residual
    product(x, w, bias, room[:, 4:74], "relu", isa=isa, out=room[:, 4:74])
    np.testing.assert_array_equal(room[:, 4:74], want)
    assert np.all(room[:, :4] == 0)
    assert np.all(room[:, 74:] == 0)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: a[::2, ::3],
        lambda a: np.broadcast_to(a[:1], (70, 90)),
        lambda a: np.broadcast_to(a[:, :1], (90, 70)),
    ],
    ids=["transposed", "reversed", "reversed-depth", "skipped", "one-row", "one-column"],
)
def test_strides_of_weights(isa, view):
    w = view(data(90, 90))
    x = data(5, w.shape[1], seed=1)
    np.testing.assert_array_equal(product(x, w, isa=isa), product(x, w.copy(), isa=isa))


@pytest.mark.parametrize("sizes", [(3, 5), (48, 16, 16), (50, 1, 0, 47), (0, 100), (100, 0)])
def test_several_weights_pack_one_after_another(isa, sizes):
    weights = [data(n, 19, seed=n) for n in sizes]
    packed, whole = native.linear_pack(*weights, isa=isa), np.concatenate(weights)
    assert packed.shape == (sum(sizes), 19)
    assert packed.isa == isa
    assert packed.nbytes % 16 == 0
    assert whole.nbytes <= packed.nbytes < whole.nbytes + 16 * 19 * 4
    x, out = data(6, 19), np.empty((6, sum(sizes)), np.float32)
    native.linear(x, packed, out=out)
    np.testing.assert_array_equal(out, product(x, whole, isa=isa))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("m", [1, 9])
def test_special_values_stay_in_their_row_and_column(isa, value, m):
    x, w, bias, residual = problem(m, 53, 21)
    plain = product(x, w, bias, residual, isa=isa)

    def changed_at(got):
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(np.isfinite(got), got == plain)
        return {tuple(index) for index in np.argwhere(got != plain)}

    row = {(m - 1, j) for j in range(53)}
    column = {(i, 50) for i in range(m)}
    spoilt = x.copy()
    spoilt[m - 1, 20] = value
    assert changed_at(product(spoilt, w, bias, residual, isa=isa)) == row
    spoilt = w.copy()
    spoilt[50, 0] = value
    assert changed_at(product(x, spoilt, bias, residual, isa=isa)) == column
    spoilt = bias.copy()
    spoilt[50] = value
    assert changed_at(product(x, w, spoilt, residual, isa=isa)) == column
    spoilt = residual.copy()
    spoilt[m - 1, 50] = value
    assert changed_at(product(x, w, bias, spoilt, isa=isa)) == {(m - 1, 50)}


def test_infinity_times_zero_is_nan(isa):
    x, w = data(2, 8), data(50, 8, seed=1)
    x[0, 3], w[:, 3] = np.inf, 0.0
    out = product(x, w, isa=isa)
    assert np.all(np.isnan(out[0]))
    assert np.all(np.isfinite(out[1]))


def test_torch_tensors(isa):
    x, w, bias, residual = (torch.from_numpy(each) for each in problem(4, 33, 12))
    out = torch.empty(4, 33)
    native.linear(x, native.linear_pack(w, isa=isa), bias, residual, out=out)
    assert_meets_contract(out.numpy(), x, w, bias.numpy(), residual.numpy())


@pytest.mark.parametrize("cap", VARIANTS)
def test_forge_isa_caps_the_choice(cap, monkeypatch):
    code = "import numpy as np; from forge_ugc import native; "
    code += "print(native.linear_pack(np.zeros((1, 1), np.float32)).isa)"
    monkeypatch.setenv("FORGE_ISA", cap)
    command = [sys.executable, "-c", code]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (got.returncode, got.stdout) == (0, f"{cap}\n"), got.stderr


def test_reads_and_writes_stay_inside(isa):
    """Each array ends where a page that may not be touched begins."""
    code = """
import ctypes, math, mmap, sys
import numpy as np
from forge_ugc import native
libc = ctypes.CDLL(None, use_errno=True)
def guarded(*shape):
    size = 4 * math.prod(shape)
    room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, room + mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert libc.mprotect(ctypes.c_void_p(start + room), mmap.PAGESIZE, 0) == 0
    made = np.frombuffer(pages, np.float32, math.prod(shape), room - size).reshape(shape)
    made[...] = 1.0
    return made
for n in (1, 7, 8, 9, 15, 16, 17, 33, 47, 49, 95, 97):
    for m in (1, 5, 8, 9):
        x, w, bias, residual, out = guarded(m, 6), guarded(n, 6), guarded(n), guarded(m, n), \
            guarded(m, n)
        packed = native.linear_pack(w, isa=sys.argv[1])
        native.linear(x, packed, bias, residual, out=out)
        assert np.all(out == 8.0), (m, n)
        native.gated_linear(x, packed, packed, bias, bias, "relu", out=out)
        assert np.all(out == 49.0), (m, n)
print("inside")
"""
    command = [sys.executable, "-c", code, isa]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (got.returncode, got.stdout) == (0, "inside\n"), got.stderr
