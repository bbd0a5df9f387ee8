"""Rotary embeddings in the forms that models write, and forms that only look like them."""

import pytest
import torch


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def angles(length, width):
    f = torch.arange(length).float()[:, None] / 100.0 ** (torch.arange(width).float() / width)
    return f.cos(), f.sin()


Q = rand(2, 3, 5, 8)
C, S = angles(5, 8)
HC, HS = angles(5, 4)


def by_chunk(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def by_slice(x):
    return torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)


def by_split(x):
    a, b = x.split(4, dim=-1)
    return torch.cat([torch.neg(b), a], dim=3)


def every_two(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


def every_two_viewed(x):
    return torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).reshape(x.shape)


def every_two_unbound(x):
    a, b = x.reshape(*x.shape[:-1], 4, 2).unbind(-1)
    return torch.stack((-b, a), -1).view(2, 3, 5, 8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("turn", "interleaved"),
    [
        (by_chunk, False), (by_slice, False), (by_split, False),
        (every_two, True), (every_two_viewed, True), (every_two_unbound, True),
    ],
)  # fmt: skip
def test_every_way_to_turn(fuse, turn, interleaved, dtype):
    def rotate(m, x, c, s):
        return (x * c) + (turn(x) * s)

    ran = fuse(rotate, Q.to(dtype), C.to(dtype), S.to(dtype))
    assert ran.calls() == ["rotary"]
    node = ran.only("rotary")
    assert [a.target for a in node.args] == ["inputs_0", "inputs_1", "inputs_2"]
    assert node.kwargs.items() >= {"interleaved": interleaved, "rotary_dim": None}.items()


def test_any_order_of_factors_and_addends(fuse):
    ran = fuse(lambda m, x, c, s: s * by_chunk(x) + c * x, Q, C, S)
    assert [a.target for a in ran.only("rotary").args] == ["inputs_0", "inputs_1", "inputs_2"]


def test_transposed_heads_and_one_angle_a_batch(fuse, pin):
    def rotate(m, x, c, s):
        x, c, s = x.view(2, 5, 3, 8).transpose(1, 2), c.unsqueeze(1), s.unsqueeze(1)
        return x * c + by_slice(x) * s

    ran = fuse(rotate, rand(2, 5, 24), rand(2, 5, 8, seed=1), rand(2, 5, 8, seed=2))
    pin("rotary", ran.before + "\n" + ran.after)


def test_f32_angles_widen_a_bf16_input(fuse):
    ran = fuse(lambda m, x, c, s: x * c + by_chunk(x) * s, Q.bfloat16(), C, S)
    assert ran.calls() == ["rotary"]


def test_one_angle_per_pair(fuse):
    def gpt_oss(m, x, c, s):
        a, b = torch.chunk(x, 2, dim=-1)
        return torch.cat((a * c - b * s, b * c + a * s), dim=-1)

    def swapped(m, x, c, s):
        a, b = torch.chunk(x, 2, dim=-1)
        return torch.cat((c * a - s * b, s * a + c * b), dim=-1)

    def interleaved(m, x, c, s):
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)

    for function in (gpt_oss, swapped, interleaved):
        ran = fuse(function, Q, HC, HS)
        assert ran.calls() == ["rotary"]
        assert [a.target for a in ran.only("rotary").args] == ["inputs_0", "inputs_1", "inputs_2"]
        assert ran.only("rotary").kwargs["interleaved"] is (function is interleaved)


def test_cos_and_sin_the_wrong_way_round_are_taken_as_they_are(fuse):
    ran = fuse(lambda m, x, c, s: x * s + by_chunk(x) * c, Q, C, S)
    assert [a.target for a in ran.only("rotary").args] == ["inputs_0", "inputs_2", "inputs_1"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda m, x, c, s: x * c + torch.cat((x[..., 4:], -x[..., :4]), -1) * s,
            "the sign is on the first half, not on the second",
        ),
        (
            lambda m, x, c, s: x.exp() * c + by_chunk(x) * s,
            "nothing multiplies inputs_0 itself",
        ),
        (
            lambda m, x, c, s: x * 2.0 + by_chunk(x) * s,
            "cos or sin is a number, not a tensor",
        ),
        (
            lambda m, x, c, s: x * c[:1] + by_chunk(x) * s,
            "cos is f32[1,8], sin is f32[5,8]",
        ),
        (
            lambda m, x, c, s: (y := x[:, :, :1]) * c + by_chunk(y) * s,
            "cos is f32[5,8], which does not broadcast to x f32[2,3,1,8]{120,40,8,1}",
        ),
    ],
)
def test_refusals(fuse, function, reason):
    ran = fuse(function, Q, C, S)
    assert ran.reasons("rotary") == [reason]
    assert ran.rules["rotary"] == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x, c, s: x * c - by_chunk(x) * s,
        lambda m, x, c, s: x * c + torch.cat((x[..., 4:], x[..., :4]), -1) * s,
        lambda m, x, c, s: x * c + torch.cat((-x[..., 4:], -x[..., :4]), -1) * s,
        lambda m, x, c, s: x * c + torch.cat((-x[..., :4], x[..., 4:]), -1) * s,
        lambda m, x, c, s: x * c + torch.cat((-x[..., 3:], x[..., :3]), -1) * s,
        lambda m, x, c, s: x * c + torch.cat((-x[:1], x[1:]), 0) * s,
        lambda m, x, c, s: x * c + torch.stack((-x[..., 1::2], x[..., ::2]), -2).flatten(-2) * s,
        lambda m, x, c, s: x * c + torch.stack((-x[..., ::2], x[..., 1::2]), -1).flatten(-2) * s,
        lambda m, x, c, s: torch.add(x * c, by_chunk(x) * s, alpha=2),
    ],
)
def test_what_only_looks_like_it_stays(fuse, function):
    assert fuse(function, Q, C, S).rules["rotary"] == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b, c, s: torch.cat((a * c - b * s, b * c - a * s), -1),
        lambda a, b, c, s: torch.cat((a * c + b * s, b * c + a * s), -1),
        lambda a, b, c, s: torch.cat((b * s - a * c, b * c + a * s), -1),
        lambda a, b, c, s: torch.cat((a * c - b * s, b * s + a * c), -1),
        lambda a, b, c, s: torch.cat((b * c + a * s, a * c - b * s), -1),
    ],
)
def test_other_combinations_of_halves_stay(fuse, function):
    ran = fuse(lambda m, x, c, s: function(*x.chunk(2, -1), c, s), Q, HC, HS)
    assert "rotary" not in ran.calls()


def test_a_shared_product_is_a_near_miss(fuse):
    def shared(m, x, c, s):
        p = x * c
        return p + by_chunk(x) * s, p

    [reason] = fuse(shared, Q, C, S).reasons("rotary")
    assert reason.endswith("is read by 2 nodes")


def test_a_shared_product_of_halves_is_a_near_miss(fuse):
    def shared(m, x, c, s):
        a, b = x.chunk(2, -1)
        p = a * c
        return torch.cat((p - b * s, b * c + a * s), -1), p

    [reason] = fuse(shared, Q, HC, HS).reasons("rotary-by-pair")
    assert reason.endswith("is read by 2 nodes")
