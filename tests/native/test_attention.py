"""Every variant of attention_f32 and attention_bf16 against float64."""

import pytest
import torch
from attention_cases import Setting, assert_meets_contract, attend, padded, variants

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
CASES = [(name, isa) for name, dtype in DTYPES.items() for isa in variants(dtype)]
SHARES = (2, 3, 7)
PLAIN = Setting()
CAUSAL = Setting(right=0)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def variant(request):
    """(dtype, instruction set)"""
    name, isa = request.param
    return DTYPES[name], isa


def data(dtype, *shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def problem(dtype, heads, groups, length, keys, size, value_size=None, batch=1):
    """q, k and v."""
    value_size = size if value_size is None else value_size
    return (
        data(dtype, batch, heads, length, size),
        data(dtype, batch, groups, keys, size, seed=1),
        data(dtype, batch, groups, keys, value_size, seed=2),
    )


def check(isa, q, k, v, mask=None, setting=PLAIN, shares=SHARES):
    """The result of one share, after that of others has turned out to be the same bits."""
    got = attend(q, k, v, mask, setting, isa=isa)
    assert_meets_contract(got, q, k, v, mask, setting, isa)
    for count in shares:
        other = attend(q, k, v, mask, setting, isa=isa, shares=count)
        assert torch.equal(got.nan_to_num(9), other.nan_to_num(9)), count
    return got


@pytest.mark.parametrize("size", [1, 15, 16, 17, 32, 64, 80, 96, 128, 256])
def test_head_sizes(variant, size):
    dtype, isa = variant
    for length in (1, 37):
        check(isa, *problem(dtype, 3, 3, length, 37, size), setting=CAUSAL)
        check(isa, *problem(dtype, 2, 1, length, 29, size, 2 * size + 3))


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 127, 128, 129])
@pytest.mark.parametrize("keys", [1, 2, 15, 16, 17, 127, 129])
def test_lengths(variant, length, keys):
    dtype, isa = variant
    q, k, v = problem(dtype, 2, 2, length, keys, 24)
    check(isa, q, k, v, shares=(3,))
    check(isa, q, k, v, setting=Setting(right=keys - length), shares=(3,))


@pytest.mark.parametrize("shared", range(1, 9))
@pytest.mark.parametrize("length", [1, 2, 9])
def test_query_heads_share_keys(variant, shared, length):
    dtype, isa = variant
    q, k, v = problem(dtype, 3 * shared, 3, length, 40, 32, batch=2)
    check(isa, q, k, v, setting=Setting(right=40 - length))


@pytest.mark.parametrize("length", [1, 3, 70])
def test_many_keys(variant, length):
    """Longer than the chunks that scores are computed in."""
    dtype, isa = variant
    q, k, v = problem(dtype, 4, 2, length, 2500, 40)
    check(isa, 4 * q, k, v)
    check(isa, q, k, v, setting=Setting(right=2500 - length))
    # The highest score comes last, or first.
    for rising in (
        k * torch.linspace(0, 9, 2500)[:, None],
        k * torch.linspace(9, 0, 2500)[:, None],
    ):
        check(isa, q, rising.to(dtype), v)


@pytest.mark.parametrize("left", [None, 0, 5, 40, -3])
@pytest.mark.parametrize("right", [None, 0, 7, 40, -3])
@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
def test_bands(variant, left, right, empty_rows):
    dtype, isa = variant
    setting = Setting(left=left, right=right, empty_rows=empty_rows)
    for length, keys in ((2, 50), (50, 50), (61, 30)):
        check(isa, *problem(dtype, 2, 2, length, keys, 20), setting=setting)


def masks(kind, shape):
    """A mask, some of whose rows hide everything."""
    seen = data(torch.float32, *shape, seed=5) > -0.3
    seen[..., -1:, :] = False
    if kind == torch.bool:
        return seen
    return data(kind, *shape, seed=6).masked_fill(~seen, -torch.inf)


@pytest.mark.parametrize("kind", [torch.bool, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
def test_masks(variant, kind, empty_rows):
    dtype, isa = variant
    for length, keys in ((2, 37), (21, 600)):
        q, k, v = problem(dtype, 4, 2, length, keys, 16, batch=2)
        for shape in ((2, 4, length, keys), (1, 1, length, keys), (2, 1, 1, keys),
                      (2, 4, length, 1), (1, 1, 1, 1)):  # fmt: skip
            mask = masks(kind, shape)
            for setting in (Setting(empty_rows=empty_rows), Setting(right=keys - length, left=30)):
                check(isa, q, k, v, mask, setting)
        spread = padded(masks(kind, (2, 4, keys, length)), (0, 1, 2, 3)).mT
        check(isa, q, k, v, spread, Setting(empty_rows=empty_rows))


def test_lowest_finite_mask_hides_unless_all_is_hidden(variant):
    """What models of `transformers` add: a row of nothing else weighs all keys alike."""
    dtype, isa = variant
    q, k, v = problem(dtype, 2, 2, 12, 40, 16)
    mask = torch.zeros(12, 40)
    mask[:, 30:] = mask[5] = torch.finfo(torch.float32).min
    got = attend(q, k, v, mask, isa=isa)
    first = attend(q, k[:, :, :30], v[:, :, :30], isa=isa)
    torch.testing.assert_close(got[:, :, :5], first[:, :, :5])
    torch.testing.assert_close(got[:, :, 5], v.float().mean(2), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("scale", [0.0, -0.5, 30.0])
def test_scales(variant, scale):
    dtype, isa = variant
    for length in (1, 19):
        check(isa, *problem(dtype, 2, 2, length, 33, 16), setting=Setting(scale=scale))


def test_result_in_bfloat16():
    setting = Setting(right=0, out=torch.bfloat16)
    for isa in variants(torch.bfloat16):
        for length, size in ((1, 64), (33, 64), (40, 19)):
            check(isa, *problem(torch.bfloat16, 4, 2, length, length, size), setting=setting)


def test_padded_strides(variant):
    dtype, isa = variant
    for length in (1, 20):
        q, k, v = problem(dtype, 4, 2, length, 50, 24, 17, batch=2)
        want = attend(q, k, v, setting=CAUSAL, isa=isa)
        q, k, v = (padded(x, (1, 2, 3, 5)) for x in (q, k, v))
        got = attend(q, k, v, setting=CAUSAL, isa=isa, shares=3, gaps=(1, 1, 2, 3))
        assert torch.equal(got, want)
        # Heads side by side in a row, as merged projections leave them.
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
        assert torch.equal(attend(q, k, v, setting=CAUSAL, isa=isa), want)


@pytest.mark.parametrize("length", [1, 19])
def test_nan_and_infinity(variant, length):
    dtype, isa = variant
    q, k, v = problem(dtype, 2, 2, length, 300, 16)
    q[0, 0, 0, 3] = torch.nan
    got = attend(q, k, v, isa=isa)
    assert bool(got[0, 0, 0].isnan().all())
    assert_meets_contract(got, q, k, v, isa=isa)
    # +inf in a score, late or early, and a weight of zero for -inf.
    for key in (2, 290):
        q, k, v = problem(dtype, 2, 2, length, 300, 16)
        q[..., 0] = 1.0
        q[0, 0, 0, 0] = -1.0
        k[0, :, key, 0] = torch.inf
        got = attend(q, k, v, isa=isa)
        assert bool(got[0, 1].isnan().all())
        assert bool(got[0, 0, 1:].isnan().all())
        others = [j for j in range(300) if j != key]
        assert_meets_contract(
            got[:, :1, :1], q[:, :1, :1], k[:, :1, others], v[:, :1, others], isa=isa
        )
    # Values are weighed as they are.
    q, k, v = problem(dtype, 2, 2, length, 300, 16)
    v[0, 0, 7, 2], v[0, 0, 9, 4] = torch.inf, torch.nan
    got = attend(q, k, v, isa=isa)
    assert bool((got[0, 0, :, 2] == torch.inf).all())
    assert bool(got[0, 0, :, 4].isnan().all())
    assert bool(got[0, 1].isfinite().all())


@pytest.mark.parametrize("length", [1, 30])
def test_scores_of_minus_infinity_alone_count_as_hidden(variant, length):
    dtype, isa = variant
    q, k, v = problem(dtype, 1, 1, length, 20, 16)
    q[..., 0], k[..., 0] = 1.0, -torch.inf
    assert bool((attend(q, k, v, isa=isa) == 0).all())
    got = attend(q, k, v, setting=Setting(empty_rows="nan"), isa=isa)
    assert bool(got.isnan().all())


@pytest.mark.parametrize(
    ("batch", "heads", "length", "keys", "size", "value_size"),
    [(0, 2, 3, 4, 5, 5), (1, 0, 3, 4, 5, 5), (2, 2, 0, 4, 5, 5), (2, 2, 30, 0, 5, 5),
     (2, 2, 3, 0, 5, 5), (1, 2, 3, 4, 0, 5), (1, 2, 30, 4, 0, 5), (1, 2, 30, 4, 5, 0)],
)  # fmt: skip
def test_empty_dimensions(variant, batch, heads, length, keys, size, value_size):
    dtype, isa = variant
    q, k, v = problem(dtype, heads, max(heads, 1), length, keys, size, value_size, batch)
    check(isa, q, k[:, :heads] if heads else k, v)


def test_threads_together(variant):
    dtype, isa = variant
    q, k, v = problem(dtype, 6, 2, 65, 65, 32)
    want = attend(q, k, v, setting=CAUSAL, isa=isa)
    for shares in (2, 4):
        got = attend(q, k, v, setting=CAUSAL, isa=isa, shares=shares, parallel=True)
        assert torch.equal(got, want)
