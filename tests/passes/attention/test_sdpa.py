"""scaled_dot_product_attention with every argument."""

import pytest
from attention_support import (
    B,
    Call,
    D,
    H,
    L,
    Outcome,
    attend,
    draw,
    fuse,
    qkv,
    sdpa,
)  # fmt: skip

from forge_ugc.passes.text import operator_of


def test_plain_call_takes_the_default_scale():
    out = fuse(sdpa, *qkv(), exact=True)
    assert out.calls == ["attention"]
    assert out.settings() == {"scale": D**-0.5, "left": None, "right": None}
    assert out.note() == "mask: none"


@pytest.mark.parametrize(("n", "s"), [(7, 7), (3, 9), (9, 3)])
def test_causal_flag_counts_from_the_first_query_and_key(n, s):
    out = fuse(lambda *x: sdpa(*x, is_causal=True, scale=0.7), *qkv(n=n, s=s), exact=True)
    assert out.settings() == {"scale": 0.7, "left": None, "right": 0}
    assert out.note() == "mask: causal"


def test_grouped_queries():
    out = fuse(lambda *x: sdpa(*x, enable_gqa=True), *qkv(g=2), exact=True)
    assert out.shapes() == [[B, H, L, D], [B, 2, L, D], [B, 2, L, D]]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_batch_is_broadcast_by_views(which):
    args = list(qkv())
    args[which] = args[which][:1]
    out = fuse(sdpa, *args)
    assert out.calls == ["expand.default", "attention"]
    assert out.attention().args[which].meta["type"].strides[0] == 0


def test_single_key_head_is_shared():
    q, k, v = qkv()
    assert fuse(sdpa, q, k[:, :1], v[:, :1]).shapes()[1] == [B, 1, L, D]
    assert fuse(sdpa, q, k[:, :1], v).shapes()[1] == [B, H, L, D]
    assert fuse(sdpa, q[:, :1], k, v).shapes()[0] == [B, H, L, D]


@pytest.mark.parametrize("lead", [(), (3,)])
def test_lower_ranks(lead):
    args = [draw(*lead, n, D, seed=n) for n in (5, 6, 6)]
    mask = draw(*lead, 5, 6) > 0
    for options in ({}, {"attn_mask": mask}, {"is_causal": True}):
        out = fuse(lambda *x, o=options: sdpa(*x, **o), *args)
        assert operator_of(out.attention()) == "attention"


def test_dynamic_masks_keep_their_shape():
    q, k, v = qkv()
    for mask, note in [
        (draw(B, 1, 1, L) > -1, "key padding"), (draw(B, 1, L, L) > -1, "bool"),
        (draw(L, L), "additive"), (draw(1, H, 1, L), "additive"),
    ]:  # fmt: skip
        out = fuse(lambda q, k, v, m: sdpa(q, k, v, attn_mask=m), q, k, v, mask, exact=True)
        assert out.note() == f"mask: {note}"
        assert out.calls == ["attention"]


def test_expanded_mask_is_read_unexpanded():
    def run(q, k, v, m):
        return sdpa(q, k, v, attn_mask=m[:, None, None, :].expand(B, H, L, L))

    out = fuse(run, *qkv(), draw(B, L) > -1, exact=True)
    assert out.shapes()[3] == [B, 1, 1, L]


SDPA_REFUSALS = [
    (lambda *x: sdpa(*x, dropout_p=0.5), qkv(), "dropout_p=0.5 draws random numbers"),
    (sdpa, [x[None] for x in qkv(b=1, h=1, n=2, d=4)],
     "q, k and v are f32[1,1,1,2,4], f32[1,1,1,2,4] and f32[1,1,1,2,4]; "
     "they must have one rank of 2, 3 or 4"),
    (lambda q, k, v: sdpa(q, k, v[:, :2], enable_gqa=True), qkv(h=4),
     "keys have 4 heads and values 2"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "reason"), SDPA_REFUSALS)
def test_sdpa_refusals(function, args, reason):
    out = Outcome(Call(function), args)
    assert out.missed == [f"sdpa: {reason}"]
    assert "scaled_dot_product_attention.default" in out.calls


def test_empty_tensors_stay():
    q, k, v = qkv()
    out = fuse(lambda q, k, v: sdpa(q, k[:, :, :0], v[:, :, :0]), q, k, v)
    assert "attention" not in out.calls
    out = fuse(lambda q, k, v: attend(q, k[:, :, :0], v[:, :, :0]), q, k, v)
    assert "attention" not in out.calls
