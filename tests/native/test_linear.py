"""Every variant of linear_f32 against PyTorch in float64."""

import pytest
import torch
from dense_support import ACTIVATIONS, linear, pack, variants

VARIANTS = variants("linear_f32")
ROWS = range(1, 18)
# Around one, two and six vectors of every variant, and around one, two and three panels.
COLUMNS = (1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 65, 79, 96, 97, 111, 145)
DEPTHS = (0, 1, 3, 4, 5, 64, 129)
U = 2.0**-24  # half a unit in the last place of 1


def data(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def problem(m, n, k):
    """x, w, bias, residual."""
    return data(m, k), data(n, k, seed=1), data(n, seed=2), data(m, n, seed=3)


def product(x, w, bias=None, residual=None, activation="none", *, isa, out=None, **options):
    out = torch.full((len(x), len(w)), torch.nan) if out is None else out
    linear(x, pack(w, isa=isa), bias, residual, activation, out=out, **options)
    return out


def assert_meets_contract(got, x, w, bias=None, residual=None, scale=1.0):
    """The error that csrc/kernels/linear/linear.h promises, without an activation."""
    x, w = x.double(), w.double()
    u = x.shape[1] * U
    want, error = x @ w.T, u / (1 - u) * (x.abs() @ w.abs().T)
    if bias is not None:
        want = want + bias
        error = (error + U * want.abs()) / (1 - U)
    if scale != 1.0:
        want = want * scale
        error = (error * abs(scale) + U * want.abs()) / (1 - U)
    if residual is not None:
        want = want + residual
        error = (error + U * want.abs()) / (1 - U)
    # float64 rounds too, by as much as 2^-29 of what float32 does.
    assert bool(((got - want).abs() <= error * (1 + 2.0**-20)).all())


def assert_equal(got, want):
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.fixture(params=VARIANTS)
def isa(request):
    return request.param


@pytest.mark.parametrize("k", DEPTHS)
def test_sizes_around_tiles(isa, k):
    for n in COLUMNS:
        packed = pack(data(n, k, seed=1), isa=isa)
        for m in ROWS:
            x, w, bias, residual = problem(m, n, k)
            out = torch.full((m, n), torch.nan)
            linear(x, packed, bias, residual, out=out)
            assert_meets_contract(out, x, w, bias, residual)
            linear(x, packed, out=out)
            assert_meets_contract(out, x, w)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 200, 8192), (9, 50, 8191), (130, 300, 97)])
def test_larger_sizes(isa, m, n, k):
    x, w, bias, residual = problem(m, n, k)
    assert_meets_contract(product(x, w, bias, residual, isa=isa), x, w, bias, residual)


def test_small_integers_are_exact(isa):
    """An index that is off by one shows whatever the bound allows."""
    x, w = (torch.randint(-9, 10, shape).float() for shape in ((13, 77), (115, 77)))
    assert_equal(product(x, w, isa=isa), x @ w.T)


@pytest.mark.parametrize("shape", [(0, 5, 7), (3, 0, 7), (0, 0, 7), (0, 0, 0), (0, 5, 0)])
def test_empty(isa, shape):
    x, w, bias, residual = problem(*shape)
    assert product(x, w, bias, residual, "gelu", isa=isa, shares=3).shape == shape[:2]


def test_without_depth_the_sum_is_zero(isa):
    x, w, bias, residual = problem(3, 50, 0)
    assert_equal(product(x, w, isa=isa), torch.zeros(3, 50))
    assert_equal(product(x, w, bias, residual, isa=isa), bias + residual)


@pytest.mark.parametrize("m", [1, 4, 5, 8, 9, 16, 17, 40])
def test_any_number_of_shares_gives_the_same_bits(isa, m):
    for n in (5, 48, 96, 149, 330):
        x, w, bias, residual = problem(m, n, 37)
        want = product(x, w, bias, residual, "silu", isa=isa)
        for shares in (2, 3, 4, 6, 50):
            # In place, a share that does the work of another one would add twice.
            out = residual.clone()
            product(x, w, bias, out, "silu", isa=isa, shares=shares, out=out)
            assert_equal(out, want)
        out = residual.clone()
        product(x, w, bias, out, "silu", isa=isa, shares=2, parallel=True, out=out)
        assert_equal(out, want)


def test_a_row_gives_the_same_bits_in_any_batch(isa):
    x, w, bias, residual = problem(17, 149, 65)
    want = product(x, w, bias, residual, "gelu", isa=isa)
    for m in ROWS:
        got = product(x[:m], w, bias, residual[:m], "gelu", isa=isa)
        assert_equal(got, want[:m])


def test_deep_products(isa):
    """Sums wait in memory between blocks of depth; the room for rows is half with a gate."""
    x, w, bias, residual = problem(133, 70, 2405)
    up = data(70, 2405, seed=4)
    packed, up_packed = pack(w, isa=isa), pack(up, isa=isa)
    whole, gated = torch.empty(133, 70), torch.empty(133, 70)
    linear(x, packed, bias, residual, out=whole)
    assert_meets_contract(whole, x, w, bias, residual)
    linear(x, packed, bias, residual, "silu", up=up_packed, out=gated)
    for i in (0, 1, 62, 124, 132):
        row = torch.empty(1, 70)
        linear(x[i : i + 1], packed, bias, residual[i : i + 1], out=row)
        assert_equal(row[0], whole[i])
        linear(x[i : i + 1], packed, bias, residual[i : i + 1], "silu", up=up_packed, out=row)
        assert_equal(row[0], gated[i])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epilogues_are_their_parts(isa, activation):
    """Fused or one after another, rounding is the same."""
    x, w, bias, residual = problem(11, 101, 33)
    plain = product(x, w, isa=isa)
    activated = torch.empty_like(plain)
    none = pack(torch.empty(plain.numel(), 0), isa=isa)
    flat = activated.view(1, -1)
    linear(torch.empty(1, 0), none, (plain + bias).view(-1), activation=activation, out=flat)
    assert_equal(product(x, w, bias, None, activation, isa=isa), activated)
    got = product(x, w, bias, residual, activation, isa=isa, scale=0.3)
    assert_equal(got, activated * torch.tensor(0.3) + residual)

    up, up_bias = data(101, 33, seed=4), data(101, seed=5)
    packed, up_packed = (pack(each, isa=isa) for each in (w, up))
    want = activated * product(x, up, up_bias, isa=isa)
    for m in (1, 3, 5, 11):
        for shares in (1, 2, 4):
            out = torch.full((m, 101), torch.nan)
            linear(
                x[:m], packed, bias, None, activation,
                up=up_packed, up_bias=up_bias, out=out, shares=shares,
            )  # fmt: skip
            assert_equal(out, want[:m])
    linear(x, packed, None, residual, activation, up=up_packed, scale=-2.0, out=out)
    want = product(x, w, None, None, activation, isa=isa) * product(x, up, isa=isa)
    assert_equal(out, want * -2.0 + residual)


@pytest.mark.parametrize("columns", [(16, 5), (48, 16, 16), (50, 1, 0, 147), (96, 200), (0, 7)])
@pytest.mark.parametrize("m", [1, 5, 19])
def test_parts_are_products_of_their_own(isa, m, columns):
    """Several weights of one x."""
    x, k = data(m, 45), 45
    weights = [data(n, k, seed=n) for n in columns]
    biases = [data(n, seed=n + 1) if i != 1 else None for i, n in enumerate(columns)]
    wants = [
        product(x, w, b, None, "relu", isa=isa, scale=0.5)
        for w, b in zip(weights, biases, strict=True)
    ]
    packed = [pack(w, isa=isa) for w in weights]
    for shares in (1, 2, 3, 7):
        rooms = [torch.full((m, n + 3), 7.0) for n in columns]
        outs = [room[:, :n] for room, n in zip(rooms, columns, strict=True)]
        linear(x, packed, biases, None, "relu", scale=0.5, out=outs, shares=shares)
        for room, out, want in zip(rooms, outs, wants, strict=True):
            assert_equal(out, want)
            assert bool((room[:, -3:] == 7.0).all())


@pytest.mark.parametrize("kind", ["bias", "residual", "out"])
def test_bfloat16_operands_of_the_epilogue(isa, kind):
    x, w, bias, residual = problem(7, 53, 21)
    given = {"bias": bias, "residual": residual}
    if kind == "out":
        want = product(x, w, **given, isa=isa).bfloat16()
        out = torch.zeros(7, 60).bfloat16()
        assert_equal(product(x, w, **given, isa=isa, out=out[:, :53]), want)
        assert bool((out[:, 53:] == 0).all())
        # Infinity where bfloat16 ends, and NaN that stays NaN.
        big = torch.tensor([3.4e38, -3.4e38, torch.inf, torch.nan, 1e-40, -0.0])
        nan = torch.tensor([0x7F800001, -1], dtype=torch.int32).view(torch.float32)
        special = torch.cat([big, nan])
        got = torch.zeros(1, 8).bfloat16()
        product(torch.empty(1, 0), torch.empty(8, 0), special, isa=isa, out=got)
        assert_equal(got[0], special.bfloat16())
        return
    given[kind] = given[kind].bfloat16()
    rounded = given | {kind: given[kind].float()}
    assert_equal(product(x, w, **given, isa=isa), product(x, w, **rounded, isa=isa))


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:, 3:40],
        lambda a: a[::2, :37],
        lambda a: a[0, :37].expand(9, 37),
    ],
    ids=["offset", "skipped", "repeated"],
)
def test_strides_of_rows(isa, view):
    x = view(data(20, 64))
    _, w, bias, _ = problem(0, 55, 37)
    residual = view(data(20, 128, seed=3)[:, :60])[:, :30]
    want = product(x.clone(), w[:30], bias[:30], residual.clone(), isa=isa)
    room = torch.full((60, 64), 7.0)
    out = room[3 : 3 + 2 * len(x) : 2, 5:35]
    product(x, w[:30], bias[:30], residual, isa=isa, out=out)
    assert_equal(out, want)
    out[...] = 7.0
    assert bool((room == 7.0).all()), "wrote outside out"


def test_residual_in_place(isa):
    x, w, bias, residual = problem(10, 70, 20)
    want = product(x, w, bias, residual, "relu", isa=isa)
    room = torch.zeros(10, 100)
    room[:, 4:74] = residual
    product(x, w, bias, room[:, 4:74], "relu", isa=isa, out=room[:, 4:74])
    assert_equal(room[:, 4:74], want)
    assert bool((room[:, :4] == 0).all())
    assert bool((room[:, 74:] == 0).all())


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::2, ::3],
        lambda a: a[:1].expand(70, 90),
        lambda a: a[:, :1].expand(90, 70),
        lambda a: a.T[:, :1],
        lambda a: a[3:, 5:],
    ],
    ids=["transposed", "skipped", "one-row", "one-column", "depth-one", "offset"],
)
@pytest.mark.parametrize("shares", [1, 2, 5])
def test_strides_of_weights(isa, view, shares):
    w = view(data(90, 90))
    x = data(5, w.shape[1], seed=1)
    out = torch.empty(5, len(w))
    linear(x, pack(w, isa=isa, shares=shares), out=out)
    assert_equal(out, product(x, w.contiguous(), isa=isa))


@pytest.mark.parametrize("sizes", [(3, 5), (48, 16, 16), (50, 1, 0, 47), (0, 100), (100, 0)])
@pytest.mark.parametrize("shares", [1, 3])
def test_several_weights_pack_one_after_another(isa, sizes, shares):
    weights = [data(n, 19, seed=n) for n in sizes]
    x, out = data(6, 19), torch.empty(6, sum(sizes))
    linear(x, pack(*weights, isa=isa, shares=shares), out=out)
    assert_equal(out, product(x, torch.cat(weights), isa=isa))


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("m", [1, 9])
def test_special_values_stay_in_their_row_and_column(isa, value, m):
    given = dict(zip(("x", "w", "bias", "residual"), problem(m, 53, 21), strict=True))
    plain = product(**given, isa=isa)

    def changed_at(name, *at):
        spoilt = given | {name: given[name].clone()}
        spoilt[name][at] = value
        got = product(**spoilt, isa=isa)
        assert_equal(got.isfinite(), got == plain)
        return {tuple(index) for index in (got != plain).nonzero().tolist()}

    column = {(i, 50) for i in range(m)}
    assert changed_at("x", m - 1, 20) == {(m - 1, j) for j in range(53)}
    assert changed_at("w", 50, 0) == column
    assert changed_at("bias", 50) == column
    assert changed_at("residual", m - 1, 50) == {(m - 1, 50)}


def test_infinity_times_zero_is_nan(isa):
    x, w = data(2, 8), data(50, 8, seed=1)
    x[0, 3], w[:, 3] = torch.inf, 0.0
    out = product(x, w, isa=isa)
    assert bool(out[0].isnan().all())
    assert bool(out[1].isfinite().all())
