"""Every variant of linear_bf16 against PyTorch in float64."""

import pytest
import torch
from dense_support import linear, pack, variants

VARIANTS = variants("linear_bf16")
ROWS = (1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 47, 49)
COLUMNS = (1, 15, 16, 17, 33, 48, 65, 97)
DEPTHS = (0, 1, 2, 3, 31, 32, 33, 64, 129)
U = 2.0**-24  # half a unit in the last place of 1
LEAST = 2.0**-126  # smaller products and sums may be taken for zero


def data(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def problem(m, n, k):
    """x, w, bias, residual."""
    x, w = data(m, k).bfloat16(), data(n, k, seed=1).bfloat16()
    return x, w, data(n, seed=2), data(m, n, seed=3)


def packed_as(w, isa, **options):
    return pack(w, isa=isa, precision="bf16", **options)


def product(x, w, bias=None, residual=None, activation="none", *, isa, out=None, **options):
    out = torch.full((len(x), len(w)), torch.nan) if out is None else out
    linear(x, packed_as(w, isa), bias, residual, activation, out=out, **options)
    return out


def assert_meets_contract(got, x, w, bias=None, residual=None):
    """The error that csrc/kernels/linear/linear.h promises, without an activation."""
    x, w = x.double(), w.double()
    u = x.shape[1] * U
    want, error = x @ w.T, u / (1 - u) * (x.abs() @ w.abs().T) + x.shape[1] * LEAST
    for term in (bias, residual):
        if term is not None:
            want = want + term
            error = (error + U * want.abs()) / (1 - U)
    assert bool(((got - want).abs() <= error * (1 + 2.0**-20)).all())


def assert_equal(got, want):
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.fixture(params=VARIANTS)
def isa(request):
    return request.param


@pytest.mark.parametrize("k", DEPTHS)
def test_sizes_around_tiles(isa, k):
    for n in COLUMNS:
        packed = packed_as(data(n, k, seed=1).bfloat16(), isa)
        for m in ROWS:
            x, w, bias, residual = problem(m, n, k)
            out = torch.full((m, n), torch.nan)
            linear(x, packed, bias, residual, out=out)
            assert_meets_contract(out, x, w, bias, residual)
            linear(x, packed, out=out)
            assert_meets_contract(out, x, w)


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(1, 200, 8192), (9, 50, 8191), (130, 300, 97), (300, 40, 1030), (128, 65, 4096)],
)
def test_larger_sizes(isa, m, n, k):
    x, w, bias, residual = problem(m, n, k)
    assert_meets_contract(product(x, w, bias, residual, isa=isa), x, w, bias, residual)


@pytest.mark.parametrize("m", [1, 13, 100])
def test_small_integers_are_exact(isa, m):
    """An index that is off by one shows whatever the bound allows."""
    x, w = (torch.randint(-9, 10, shape).bfloat16() for shape in ((m, 777), (115, 777)))
    assert_equal(product(x, w, isa=isa), x.float() @ w.float().T)


@pytest.mark.parametrize("shape", [(0, 5, 7), (3, 0, 7), (0, 0, 7), (0, 0, 0), (0, 5, 0)])
def test_empty(isa, shape):
    x, w, bias, residual = problem(*shape)
    assert product(x, w, bias, residual, "gelu", isa=isa, shares=3).shape == shape[:2]


def test_without_depth_the_sum_is_zero(isa):
    x, w, bias, residual = problem(3, 50, 0)
    assert_equal(product(x, w, isa=isa), torch.zeros(3, 50))
    assert_equal(product(x, w, bias, residual, isa=isa), bias + residual)


@pytest.mark.parametrize("m", [1, 4, 17, 33, 140])
def test_any_number_of_shares_gives_the_same_bits(isa, m):
    for n, k in ((5, 37), (96, 37), (149, 300), (330, 37)):
        x, w, bias, residual = problem(m, n, k)
        want = product(x, w, bias, residual, "silu", isa=isa)
        for shares in (2, 3, 4, 50):
            # In place, a share that does the work of another one would add twice.
            out = residual.clone()
            product(x, w, bias, out, "silu", isa=isa, shares=shares, out=out)
            assert_equal(out, want)
        out = residual.clone()
        product(x, w, bias, out, "silu", isa=isa, shares=2, parallel=True, out=out)
        assert_equal(out, want)


def test_a_row_gives_the_same_bits_in_any_batch(isa):
    x, w, bias, residual = problem(49, 149, 65)
    want = product(x, w, bias, residual, "gelu", isa=isa)
    for m in ROWS:
        got = product(x[:m], w, bias, residual[:m], "gelu", isa=isa)
        assert_equal(got, want[:m])


@pytest.mark.parametrize("activation", ["none", "silu"])
def test_deep_products(isa, activation):
    """Sums wait in memory between blocks of depth; the room for rows is half with a gate."""
    x, w, bias, residual = problem(133, 70, 4701)
    up = data(70, 4701, seed=4).bfloat16()
    packed, up_packed, whole = packed_as(w, isa), packed_as(up, isa), torch.empty(133, 70)
    gated, some = torch.empty(133, 70), torch.empty(9, 70)
    linear(x, packed, bias, residual, activation, out=whole)
    linear(x, packed, bias, residual, activation, up=up_packed, out=gated)
    for i in (0, 1, 62, 124, 132):
        one = x[i : i + 1]
        for gate, want in ((None, whole), (up_packed, gated)):
            row = residual[i : i + 1].clone()
            linear(one, packed, bias, row, activation, up=gate, out=row)
            assert_equal(row[0], want[i])
    linear(x[60:69], packed, bias, residual[60:69], activation, up=up_packed, out=some)
    assert_equal(some, gated[60:69])
    if activation == "none":
        assert_meets_contract(whole, x, w, bias, residual)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("m", [1, 5, 37])
def test_epilogue_rounds_once(isa, m, kind):
    """Scale, residual and gate in float32, then the type of the result."""
    x, w, bias, residual = problem(m, 101, 70)
    up, up_bias = data(101, 70, seed=4).bfloat16(), data(101, seed=5)
    activated = product(x, w, bias, None, "relu", isa=isa)
    residual, want = residual.to(kind), activated * torch.tensor(0.3)
    gated = activated * product(x, up, up_bias, isa=isa) * 2.0
    for shares in (1, 3):
        out = torch.full((m, 110), 7.0, dtype=kind)
        out[:, :101] = residual
        product(
            x, w, bias, out[:, :101], "relu",
            isa=isa, scale=0.3, shares=shares, out=out[:, :101],
        )  # fmt: skip
        assert_equal(out[:, :101], (want + residual.float()).to(kind))
        product(
            x, w, bias, None, "relu", isa=isa, scale=2.0, shares=shares,
            up=packed_as(up, isa), up_bias=up_bias, out=out[:, :101],
        )  # fmt: skip
        assert_equal(out[:, :101], gated.to(kind))
        assert bool((out[:, 101:] == 7.0).all())


@pytest.mark.parametrize("columns", [(16, 5), (48, 16, 16), (50, 1, 0, 147), (96, 200), (0, 7)])
@pytest.mark.parametrize("m", [1, 19, 33])
def test_parts_are_products_of_their_own(isa, m, columns):
    """Several weights of one x."""
    x = data(m, 45).bfloat16()
    weights = [data(n, 45, seed=n).bfloat16() for n in columns]
    biases = [data(n, seed=n + 1).bfloat16() if i != 1 else None for i, n in enumerate(columns)]
    wants = [product(x, w, b, isa=isa) for w, b in zip(weights, biases, strict=True)]
    packed = [packed_as(w, isa) for w in weights]
    for shares in (1, 2, 3, 7):
        rooms = [torch.full((m, n + 3), 7.0) for n in columns]
        outs = [room[:, :n] for room, n in zip(rooms, columns, strict=True)]
        linear(x, packed, biases, out=outs, shares=shares)
        for room, out, want in zip(rooms, outs, wants, strict=True):
            assert_equal(out, want)
            assert bool((room[:, -3:] == 7.0).all())


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::2, ::3],
        lambda a: a[:1].expand(70, 90),
        lambda a: a[:, :1].expand(90, 70),
        lambda a: a.T[:, :1],
        lambda a: a[3:, 5:],
        lambda a: a.T[3:, 5:],
    ],
    ids=[
        "plain", "transposed", "skipped", "one-row", "one-column", "depth-one", "offset",
        "offset-transposed",
    ],
)  # fmt: skip
@pytest.mark.parametrize("shares", [1, 3])
def test_strides_and_types_of_weights(isa, view, shares):
    """float32 rounds as in PyTorch, NaN included."""
    whole = data(90, 90)
    whole[4, 7], whole[5, 9] = torch.nan, torch.inf
    w = view(whole)
    x = data(5, w.shape[1], seed=1).bfloat16()
    want = product(x, w.bfloat16().contiguous(), isa=isa)
    for source in (w, view(whole.bfloat16())):
        out = torch.empty(5, len(w))
        linear(x, packed_as(source, isa, shares=shares), out=out)
        assert_equal(out, want)


@pytest.mark.parametrize("sizes", [(3, 5), (48, 16, 16), (50, 1, 0, 47), (0, 100), (100, 0)])
@pytest.mark.parametrize("shares", [1, 3])
def test_several_weights_pack_one_after_another(isa, sizes, shares):
    weights = [data(n, 19, seed=n) for n in sizes]
    x, out = data(6, 19).bfloat16(), torch.empty(6, sum(sizes))
    linear(x, pack(*weights, isa=isa, precision="bf16", shares=shares), out=out)
    assert_equal(out, product(x, torch.cat(weights), isa=isa))


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("m", [1, 9, 18])
@pytest.mark.parametrize("k", [21, 64])
def test_special_values_stay_in_their_row_and_column(isa, value, m, k):
    given = dict(zip(("x", "w", "bias", "residual"), problem(m, 53, k), strict=True))
    plain = product(**given, isa=isa)

    def changed_at(name, *at):
        spoilt = given | {name: given[name].clone()}
        spoilt[name][at] = value
        got = product(**spoilt, isa=isa)
        assert_equal(got.isfinite(), got == plain)
        return {tuple(index) for index in (got != plain).nonzero().tolist()}

    column = {(i, 50) for i in range(m)}
    assert changed_at("x", m - 1, k - 1) == {(m - 1, j) for j in range(53)}
    assert changed_at("w", 50, 0) == column
    assert changed_at("bias", 50) == column
    assert changed_at("residual", m - 1, 50) == {(m - 1, 50)}


def test_what_lies_between_rows_is_not_read(isa):
    room = torch.full((40, 80), torch.nan).bfloat16()
    x, w, _, _ = problem(40, 30, 37)
    room[:, 3:40] = x
    assert_equal(product(room[:, 3:40], w, isa=isa), product(x, w, isa=isa))
