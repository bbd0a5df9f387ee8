"""Gated linear units over one weight."""

import pytest
import torch
import torch.nn.functional as F


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X, W, B = rand(2, 5, 8), rand(12, 8, seed=1), rand(12, seed=2)

SPLITS = {
    "chunk": lambda y: y.chunk(2, -1),
    "split": lambda y: y.split(6, -1),
    "split sizes": lambda y: y.split([6, 6], 2),
    "slices": lambda y: (y[..., :6], y[..., 6:]),
    "narrow": lambda y: (y.narrow(-1, 0, 6), y.narrow(-1, 6, 6)),
}


@pytest.mark.parametrize("first_is_gate", [True, False])
@pytest.mark.parametrize("name", SPLITS)
def test_every_way_to_halve(fuse, name, first_is_gate):
    def function(m, x):
        a, b = SPLITS[name](F.linear(x, m.w, m.b))
        return F.silu(a) * b if first_is_gate else F.silu(b) * a

    ran = fuse(function, X, w=W, b=B, rounds=True)
    assert ran.calls() == ["gated_linear"]
    gate, up, b_gate, _ = (
        getattr(ran.graph_module, n.target) for n in ran.only("gated_linear").args[1:]
    )
    assert torch.equal(gate, W[:6] if first_is_gate else W[6:])
    assert torch.equal(up, W[6:] if first_is_gate else W[:6])
    assert torch.equal(b_gate, B[:6] if first_is_gate else B[6:])
    assert gate.untyped_storage().data_ptr() == W.untyped_storage().data_ptr()


def test_phi3_order(fuse, pin):
    def mlp(m, x):
        gate, up = F.linear(x, m.w).chunk(2, dim=-1)
        return up * F.silu(gate)

    ran = fuse(mlp, X, w=W, rounds=True)
    pin("gated_halves", ran.before + "\n" + ran.after)


def test_glu_activates_the_second_half(fuse):
    ran = fuse(lambda m, x: F.glu(F.linear(x, m.w), -1), X, w=W, rounds=True)
    node = ran.only("gated_linear")
    assert node.kwargs.items() >= {"activation": "sigmoid"}.items()
    assert torch.equal(getattr(ran.graph_module, node.args[1].target), W[6:])


def test_glu_over_another_axis_is_a_near_miss(fuse):
    ran = fuse(lambda m, x: F.glu(F.linear(x, m.w), 0), X, w=W)
    assert ran.reasons("gated-halves") == ["the halves are not those of the last axis"]


def test_halves_of_another_axis_stay(fuse):
    def rows(m, x):
        a, b = F.linear(x, m.w).chunk(2, 0)
        return F.silu(a) * b

    assert fuse(rows, X, w=W).rules["gated-halves"] == 0


def test_unequal_or_overlapping_parts_stay(fuse):
    def overlapping(m, x):
        y = F.linear(x, m.w)
        return F.silu(y[..., :6]) * y[..., 5:11]

    assert fuse(overlapping, X, w=W).rules["gated-halves"] == 0


def test_another_reader_of_a_half_is_a_near_miss(fuse):
    def shared(m, x):
        a, b = F.linear(x, m.w).chunk(2, -1)
        return F.silu(a) * b, b + 1

    ran = fuse(shared, X, w=W)
    [reason] = ran.reasons("gated-halves")
    assert "is read by add" in reason
    assert ran.rules["gated-halves"] == 0


def test_another_reader_of_the_whole_is_a_near_miss(fuse):
    def shared(m, x):
        y = F.linear(x, m.w)
        return F.silu(y[..., :6]) * y[..., 6:], y.sum()

    [reason] = fuse(shared, X, w=W).reasons("gated-halves")
    assert "is read by sum" in reason


def test_an_activated_layer_is_a_near_miss(fuse):
    def activated(m, x):
        a, b = torch.tanh(F.linear(x, m.w)).chunk(2, -1)
        return F.silu(a) * b

    assert fuse(activated, X, w=W).reasons("gated-halves") == [
        "the linear layer has an activation or a residual of its own"
    ]
