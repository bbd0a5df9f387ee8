"""Rotary embeddings of the first elements."""

import pytest
import torch


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


Q, C, S = rand(2, 3, 5, 16), rand(5, 6, seed=1), rand(5, 6, seed=2)


def turn(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def turn_pairs(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


@pytest.mark.parametrize("interleaved", [False, True])
def test_the_rest_passes_through(fuse, interleaved):
    def partial(m, x, c, s):
        r, rest = x[..., :6], x[..., 6:]
        turned = turn_pairs(r) if interleaved else turn(r)
        return torch.cat((r * c + turned * s, rest), -1)

    ran = fuse(partial, Q, C, S)
    assert ran.calls() == ["rotary"]
    node = ran.only("rotary")
    assert node.kwargs.items() >= {"interleaved": interleaved, "rotary_dim": 6}.items()
    assert node.args[0].target == "inputs_0"


def test_parts_of_a_split_of_transposed_heads(fuse, pin):
    def partial(m, x, c, s):
        r, rest = x.transpose(1, 2).split([6, 10], -1)
        return torch.cat((r * c + turn(r) * s, rest), -1)

    ran = fuse(partial, rand(2, 5, 3, 16), C, S)
    pin("rotary_partial", ran.before + "\n" + ran.after)


def test_one_angle_per_pair(fuse):
    def partial(m, x, c, s):
        (a, b), rest = x[..., :6].chunk(2, -1), x[..., 6:]
        return torch.cat((torch.cat((a * c - b * s, b * c + a * s), -1), rest), -1)

    assert fuse(partial, Q, rand(5, 3), rand(5, 3, seed=3)).calls() == ["rotary"]


def test_an_empty_rest_goes_and_the_row_major_layout_stays(fuse):
    def whole(m, x, c, s):
        r, rest = x[..., :16], x[..., 16:]
        return torch.cat((r * c + turn(r) * s, rest), -1)

    ran = fuse(whole, rand(2, 3, 16, 5).transpose(2, 3), rand(5, 16), rand(5, 16, seed=3))
    assert ran.calls() == ["rotary"]
    assert ran.only("rotary").kwargs["rotary_dim"] == 16


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda x, y, t: torch.cat((t(x[..., :6]), y[..., 6:]), -1),
            "the turned part and the rest are not pieces of one value",
        ),
        (
            lambda x, y, t: torch.cat((t(x[..., :6]), x[..., 8:]), -1),
            "the rest is elements 8 to 16, the turned part 0 to 6",
        ),
        (
            lambda x, y, t: torch.cat((t(x[..., 2:8]), x[..., 8:]), -1),
            "the rest is elements 8 to 16, the turned part 2 to 8",
        ),
    ],
)
def test_refusals(fuse, function, reason):
    def rotate(m, x, y, c, s):
        return function(x, y, lambda r: r * c + turn(r) * s)

    ran = fuse(rotate, Q, rand(2, 3, 5, 16, seed=9), C, S)
    assert ran.reasons("rotary-partial") == [reason]
    assert ran.rules == {"rotary": 1}


def test_a_rotary_that_is_partial_already_is_a_near_miss(fuse):
    def twice(m, x, c, s):
        head = x[..., :8]
        r = head[..., :6]
        once = torch.cat((r * c + turn(r) * s, head[..., 6:]), -1)
        return torch.cat((once, x[..., 8:]), -1)

    assert fuse(twice, Q, C, S).reasons("rotary-partial") == [
        "the rotary passes a rest of its own through"
    ]


def test_a_shared_rotary_is_a_near_miss(fuse):
    def shared(m, x, c, s):
        r = x[..., :6]
        y = r * c + turn(r) * s
        return torch.cat((y, x[..., 6:]), -1), y

    [reason] = fuse(shared, Q, C, S).reasons("rotary-partial")
    assert reason.endswith("is read by 2 nodes")


def test_the_rest_in_front_stays(fuse):
    def behind(m, x, c, s):
        r = x[..., 10:]
        return torch.cat((x[..., :10], r * c + turn(r) * s), -1)

    ran = fuse(behind, Q, C, S)
    assert ran.rules == {"rotary": 1}
