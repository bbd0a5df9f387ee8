"""The kernels linear_i8 and linear_pack_i8 on every instruction set of this machine."""

import pytest
import torch

from forge_ugc import native

ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 32, 33, 47, 48, 65)
# Around one, two and six vectors of every variant, and around one, two and three panels.
COLUMNS = (1, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 65, 79, 96, 97, 111, 145)
DEPTHS = (0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 129, 194)
ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "silu")
TYPES = {torch.float32: 0, torch.bfloat16: 1}
U = 2.0**-24  # half a unit in the last place of 1


@pytest.fixture(params=native.kernel_table()["linear_i8"])
def isa(request):
    if request.param not in native.cpu_isa():
        pytest.skip(f"no {request.param} here")
    return request.param


def integers(*shape, seed=0, lowest=-128):
    torch.manual_seed(seed)
    return torch.randint(lowest, 128, shape, dtype=torch.int8)


def reals(*shape, seed=0):
    torch.manual_seed(seed)
    return torch.randn(*shape)


def scales(n, seed=0):
    return reals(n, seed=seed).abs() * 1e-2 + 1e-3


def pack(*weights, isa, shares=1):
    """The packed matrix of several weights one after another."""
    columns, depth = sum(len(w) for w in weights), weights[0].shape[1]
    size = -(-columns // 16) * 16 * (-(-depth // 64) * 64)
    packed = torch.full((size + 64,), 55, dtype=torch.int8)
    first = 0
    for w in weights:
        native.run_kernel(
            "linear_pack_i8", isa=isa, shares=shares, w=w, row_stride=w.stride(0),
            depth_stride=w.stride(1), rows=len(w), depth=depth, packed=packed,
            first_column=first, columns=columns,
        )  # fmt: skip
        first += len(w)
    assert bool((packed[size:] == 55).all()), "wrote behind the packed matrix"
    return packed


def run(x, x_scale, parts, *, isa, shares=1, up=None, bias=None, up_bias=None, residual=None,
        activation="none", scale=1.0, outs=None, out_type=torch.float32):  # fmt: skip
    """The results of all `parts`, each a pair of weight and scales, as is `up`."""
    outs = outs or [torch.full((len(x), len(w)), 7.0, dtype=out_type) for w, _ in parts]
    packed = [pack(w, isa=isa) for w, _ in parts]
    fields = {"up": None}
    if up is not None:
        fields = {"up": pack(up[0], isa=isa), "up_scale": up[1]}
    biases = bias or [None] * len(parts)
    typed = [each for each in (*biases, up_bias) if each is not None]
    native.run_kernel(
        "linear_i8", isa=isa, shares=shares, x=x, x_stride=x.stride(0), x_scale=x_scale,
        rows=len(x), depth=x.shape[1], parts=len(parts), columns=[len(w) for w, _ in parts],
        w=packed, w_scale=[each for _, each in parts], bias=biases, up_bias=up_bias,
        bias_type=TYPES[typed[0].dtype] if typed else 0,
        activation=ACTIVATIONS.index(activation), scale=scale, residual=residual,
        residual_stride=0 if residual is None else residual.stride(0),
        residual_type=0 if residual is None else TYPES[residual.dtype],
        out=outs, out_stride=[out.stride(0) for out in outs], out_type=TYPES[outs[0].dtype],
        **fields,
    )  # fmt: skip
    return outs


def expected(x, x_scale, w, w_scale):
    """Every rounding as linear_i8.h promises it: float64 holds the sums."""
    sums = (x.double() @ w.double().T).to(torch.int32)
    return sums.float() * x_scale[:, None] * w_scale


def problem(m, n, k):
    return integers(m, k), scales(m), integers(n, k, seed=1), scales(n, seed=1)


@pytest.mark.parametrize("k", DEPTHS)
def test_sizes_around_tiles_to_the_bit(isa, k):
    for n in COLUMNS:
        x, x_scale, w, w_scale = problem(max(ROWS), n, k)
        packed = pack(w, isa=isa)
        want = expected(x, x_scale, w, w_scale)
        for m in ROWS:
            out = torch.full((m, n), 7.0)
            native.run_kernel(
                "linear_i8", isa=isa, x=x, x_stride=k, x_scale=x_scale, rows=m, depth=k, parts=1,
                columns=[n], w=[packed], w_scale=[w_scale], bias_type=0,
                activation=0, scale=1.0, residual_stride=0, residual_type=0, out=[out],
                out_stride=[n], out_type=0,
            )  # fmt: skip
            assert torch.equal(out, want[:m]), (m, n, k)


@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 200, 8192), (9, 50, 8191), (130, 300, 97), (531, 70, 130)]
)
def test_larger_sizes_to_the_bit(isa, m, n, k):
    x, x_scale, w, w_scale = problem(m, n, k)
    (out,) = run(x, x_scale, [(w, w_scale)], isa=isa)
    assert torch.equal(out, expected(x, x_scale, w, w_scale))


@pytest.mark.parametrize(("x_value", "w_value"), [(-128, -128), (127, -128), (-128, 127)])
@pytest.mark.parametrize("m", [1, 5, 33])
def test_extreme_values_at_the_largest_depth(isa, m, x_value, w_value):
    """No sum saturates or overflows, not even those of pairs."""
    k, one = 131071, torch.ones(1)
    x = torch.full((1, k), x_value, dtype=torch.int8).expand(m, k)
    w = torch.full((3, k), w_value, dtype=torch.int8)
    (out,) = run(x, one.expand(m).contiguous(), [(w, one.expand(3).contiguous())], isa=isa)
    assert bool((out == float(x_value * w_value * k)).all())


@pytest.mark.parametrize("shape", [(0, 5, 7), (3, 0, 7), (0, 0, 7), (0, 0, 0), (0, 5, 0)])
def test_empty(isa, shape):
    x, x_scale, w, w_scale = problem(*shape)
    (out,) = run(x, x_scale, [(w, w_scale)], isa=isa, shares=3)
    assert out.shape == shape[:2]


@pytest.mark.parametrize("m", [1, 4, 5, 8, 9, 17, 40, 100])
def test_any_number_of_shares_gives_the_same_bits(isa, m):
    for n in (5, 48, 96, 149, 330):
        x, x_scale, w, w_scale = problem(m, n, 70)
        residual, bias = reals(m, n, seed=3), reals(n, seed=2)
        given = {"bias": [bias], "activation": "silu", "isa": isa}
        (want,) = run(x, x_scale, [(w, w_scale)], residual=residual, **given)
        for shares in (2, 3, 4, 6, 50):
            # In place, a share that does the work of another one would add twice.
            out = residual.clone()
            run(x, x_scale, [(w, w_scale)], residual=out, outs=[out], shares=shares, **given)
            assert torch.equal(out, want)


def activated(values, activation, isa):
    """By the float32 kernel of the same instruction set, one rounding after the other."""
    cap = isa if isa in native.kernel_table()["linear_f32"] else "avx512"
    out, nothing = torch.empty_like(values), torch.empty(64)
    native.run_kernel(
        "linear_f32", isa=cap, x=nothing, x_stride=0, rows=1, depth=0, parts=1,
        columns=[values.numel()], w=[nothing], bias=[values], bias_type=0,
        activation=ACTIVATIONS.index(activation), scale=1.0, residual_stride=0, residual_type=0,
        out=[out], out_stride=[values.numel()], out_type=0,
    )  # fmt: skip
    return out


def assert_rounds_to(out, want, activated_part, activation):
    """To the bit, but where a bfloat16 result allows the activation an error of 2^-13."""
    if out.dtype == torch.float32 or activation in ("none", "relu"):
        assert torch.equal(out, want.to(out.dtype))
        return
    want, slack = want.double(), activated_part.double().abs() * 2.0**-13 * (1 + 2.0**-8)
    # bfloat16 has 8 bits: it rounds by 2^-8 at most.
    bound = slack + (want.abs() + slack) * 2.0**-8
    assert bool(((out.double() - want).abs() <= bound + 2.0**-119).all())


@pytest.mark.parametrize("out_type", TYPES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epilogues_are_their_parts(isa, activation, out_type):
    m, n, k = 37, 101, 70
    x, x_scale, w, w_scale = problem(m, n, k)
    up, up_scale = integers(n, k, seed=4), scales(n, seed=4)
    bias, up_bias, residual = reals(n, seed=2), reals(n, seed=5), reals(m, n, seed=3).to(out_type)
    plain = expected(x, x_scale, w, w_scale)
    gate = activated(plain + bias, activation, isa)
    given = {"activation": activation, "isa": isa, "out_type": out_type, "bias": [bias]}
    (out,) = run(x, x_scale, [(w, w_scale)], scale=0.5, residual=residual, **given)
    assert_rounds_to(out, gate * 0.5 + residual.float(), gate * 0.5, activation)

    product = gate * (expected(x, x_scale, up, up_scale) + up_bias)
    for rows in (1, 3, 5, 37):
        for shares in (1, 2, 4):
            (out,) = run(
                x[:rows], x_scale, [(w, w_scale)], up=(up, up_scale), up_bias=up_bias,
                shares=shares, **given,
            )  # fmt: skip
            assert_rounds_to(out, product[:rows], product[:rows], activation)


@pytest.mark.parametrize("m", [1, 3, 7, 33])
@pytest.mark.parametrize("sizes", [(64, 16, 16), (5, 0, 50, 97), (33, 1)])
def test_parts_share_their_rows(isa, sizes, m):
    x, x_scale = integers(m, 130), scales(m)
    parts = [(integers(n, 130, seed=n), scales(n, seed=n)) for n in sizes]
    bias = [reals(n, seed=n).bfloat16() if i else None for i, n in enumerate(sizes)]
    for shares in (1, 2, 3, 7):
        outs = run(x, x_scale, parts, isa=isa, shares=shares, bias=bias)
        for out, (w, w_scale), each in zip(outs, parts, bias, strict=True):
            want = expected(x, x_scale, w, w_scale)
            assert torch.equal(out, want if each is None else want + each.float())


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:, 3:80],
        lambda a: a[::2, :77],
        lambda a: a[0, :77].expand(9, 77),
    ],
)
def test_strides_of_rows(isa, view):
    x = view(integers(40, 100))
    m, n = len(x), 55
    _, x_scale, w, w_scale = problem(m, n, 77)
    want = expected(x, x_scale, w, w_scale)
    room = torch.full((2 * m + 2, n + 9), 7.0)
    out = room[1 : 2 * m + 1 : 2, 4 : n + 4]
    run(x, x_scale, [(w, w_scale)], isa=isa, outs=[out])
    assert torch.equal(out, want)
    out.fill_(7.0)
    assert bool((room == 7.0).all()), "wrote outside out"


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::2, ::3],
        lambda a: a[:1].expand(70, 90),
        lambda a: a[:, :1].expand(90, 70),
    ],
)
def test_strides_of_weights(isa, view):
    w = view(integers(90, 90))
    packed = pack(w, isa=isa)
    copied = pack(w.clone(memory_format=torch.contiguous_format), isa=isa, shares=3)
    assert torch.equal(packed, copied)


@pytest.mark.parametrize("sizes", [(3, 5), (48, 16, 16), (50, 1, 0, 47), (0, 100), (100, 0)])
def test_several_weights_pack_one_after_another(isa, sizes):
    weights = [integers(n, 67, seed=n) for n in sizes]
    packed = pack(*weights, isa=isa, shares=2)
    whole = pack(torch.cat(weights), isa=isa)
    assert torch.equal(packed, whole)


@pytest.mark.parametrize("m", [1, 9, 40])
def test_a_scale_that_is_nan_stays_in_its_row_and_column(isa, m):
    x, x_scale, w, w_scale = problem(m, 53, 70)
    x_scale[m // 2], w_scale[50] = torch.nan, torch.nan
    (out,) = run(x, x_scale, [(w, w_scale)], isa=isa, activation="relu")
    want = torch.zeros(m, 53, dtype=torch.bool)
    want[m // 2], want[:, 50] = True, True
    assert torch.equal(out.isnan(), want)


@pytest.mark.parametrize("m", [1, 6, 33])
def test_error_from_quantisation_stays_within_its_bound(isa, m):
    """Each factor is off by half its scale at most; rounding adds what the contracts state."""
    n, k = 65, 300
    x, w = reals(m, k), reals(n, k, seed=1)
    (q, x_scale), (p, w_scale) = (quantized(each, isa) for each in (x, w))
    (out,) = run(q, x_scale, [(p, w_scale)], isa=isa)
    half = 0.5 + 127 * 2.0**-22
    dx, dw = (s.double()[:, None] * half for s in (x_scale, w_scale))
    error = dx * w.double().abs().sum(1) + x.double().abs().sum(1)[:, None] * dw.T + k * dx * dw.T
    want = x.double() @ w.double().T
    rounded = 3 * U / (1 - 3 * U) * (want.abs() + error)
    assert bool(((out.double() - want).abs() <= error + rounded).all())


def quantized(x, isa):
    cap = isa if isa in native.kernel_table()["quantize_rows"] else "avx512"
    q, scale = torch.empty(x.shape, dtype=torch.int8), torch.empty(len(x))
    native.run_kernel(
        "quantize_rows", isa=cap, x=x, x_type=0, x_stride=x.stride(0), rows=len(x),
        depth=x.shape[1], q=q, q_stride=x.shape[1], scale=scale,
    )  # fmt: skip
    return q, scale
