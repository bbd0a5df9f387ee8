"""Repeated key and value heads are undone exactly where they stand in a row."""

import pytest
import torch
from attention_support import (
    B,
    D,
    L,
    attend,
    draw,
    fuse,
    qkv,
    sdpa,
)  # fmt: skip


def spread(x, n):
    b, g, s, d = x.shape
    return x[:, :, None].expand(b, g, n, s, d).reshape(b, g * n, s, d)


INDEX = torch.tensor([0, 0, 0, 1, 1, 1])
REPEATS = {
    "expand": lambda x: spread(x, 3),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
    "repeat behind": lambda x: x.unsqueeze(2).repeat(1, 1, 3, 1, 1).flatten(1, 2),
    "index": lambda x, i: x[:, i],
    "index_select": lambda x, i: x.index_select(1, i),
    "before the transposition": lambda x: x.transpose(1, 2).unsqueeze(3).expand(-1, -1, -1, 3, -1)
    .reshape(B, L, 6, D).transpose(1, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATS)
@pytest.mark.parametrize("whole", [True, False])
def test_repeated_heads_are_undone(name, whole):
    repeat, constants = REPEATS[name], (INDEX,) if name.startswith("index") else ()

    def run(q, k, v, *i):
        return (sdpa if whole else attend)(q, repeat(k, *i), repeat(v, *i))

    out = fuse(run, *qkv(h=6, g=2), constants=constants)
    assert out.shapes() == [[B, 6, L, D], [B, 2, L, D], [B, 2, L, D]]
    assert not {"expand.default", "index.Tensor", "repeat_interleave.self_int"} & set(out.calls)


OTHER = torch.tensor([0, 1, 0, 1, 0, 1])
TILES = {
    "repeat": lambda x: x.repeat(1, 3, 1, 1),
    "expand in front": lambda x: x[:, None].expand(B, 3, 2, L, D).reshape(B, 6, L, D),
    "cat": lambda x: torch.cat([x, x, x], 1),
    "index": lambda x, i: x[:, i],
}


@pytest.mark.parametrize("name", TILES)
@pytest.mark.parametrize("whole", [True, False])
def test_tiled_heads_stay(name, whole):
    tile, constants = TILES[name], (OTHER,) if name == "index" else ()

    def run(q, k, v, *i):
        return (sdpa if whole else attend)(q, tile(k, *i), tile(v, *i))

    out = fuse(run, *qkv(h=6, g=2), constants=constants)
    assert out.shapes()[1:] == [[B, 6, L, D], [B, 6, L, D]]


def test_one_head_repeated_in_any_way_is_one_head():
    for repeat in (
        REPEATS["expand"],
        lambda x: x.repeat(1, 6, 1, 1),
        lambda x: x.expand(B, 6, L, D),
    ):
        n = 6 if repeat is REPEATS["expand"] else None
        run = lambda q, k, v, r=repeat, n=n: sdpa(  # noqa: E731
            q, *(spread(x, n) if n else r(x) for x in (k, v))
        )
        assert fuse(run, *qkv(h=6, g=1)).shapes()[1:] == [[B, 1, L, D]] * 2


def test_keys_and_values_repeated_differently_stay():
    q, k, v = qkv(h=6, g=2)
    out = fuse(lambda q, k, v: sdpa(q, spread(k, 3), spread(v, 2)), q, k, draw(B, 3, L, D))
    assert out.shapes()[1:] == [[B, 6, L, D], [B, 6, L, D]]
    out = fuse(lambda q, k, v: attend(q, spread(k, 3), v.repeat(1, 3, 1, 1)), q, k, v)
    assert out.shapes()[1:] == [[B, 6, L, D], [B, 6, L, D]]
