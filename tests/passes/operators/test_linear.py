"""Products with constant weights become `linear`, without a copy of the weight."""

import pytest
import torch
import torch.nn.functional as F


def rand(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


X, W, TURNED, B = rand(2, 5, 8), rand(6, 8, seed=1), rand(8, 6, seed=2), rand(6, seed=3)

PRODUCTS = {
    "linear": (lambda m, x: F.linear(x, m.w, m.b), X),
    "linear of a vector": (lambda m, x: F.linear(x, m.w), rand(8)),
    "linear of a transposed input": (lambda m, x: F.linear(x.transpose(0, 1), m.w, m.b), X),
    "matmul": (lambda m, x: x @ m.t, X),
    "matmul of a vector": (lambda m, x: x @ m.t, rand(8)),
    "matmul with w.T": (lambda m, x: x @ m.w.T, X),
    "matmul with w.t()": (lambda m, x: x @ m.w.t(), X),
    "matmul with transpose": (lambda m, x: x @ m.w.transpose(1, 0), X),
    "matmul with permute": (lambda m, x: x @ m.w.permute(1, 0), X),
    "matmul turned twice": (lambda m, x: x @ m.t.t().mT, X),
    "mm": (lambda m, x: torch.mm(x, m.t), X[0]),
    "addmm": (lambda m, x: torch.addmm(m.b, x, m.t), X[0]),
    "linear with a turned weight": (lambda m, x: F.linear(x, m.t.T, m.b), X),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", PRODUCTS)
def test_every_product_with_a_constant_weight(fuse, name, dtype):
    function, x = PRODUCTS[name]
    ran = fuse(function, x.to(dtype), w=W.to(dtype), t=TURNED.to(dtype), b=B.to(dtype))
    assert ran.rules["linear"] == 1
    assert ran.calls()[-1] == "linear"


def test_a_turned_weight_is_a_view_of_the_same_memory(fuse):
    ran = fuse(lambda m, x: torch.addmm(m.b, x, m.t), X[0], t=TURNED, b=B)
    weight = getattr(ran.graph_module, ran.only("linear").args[1].target)
    assert weight.untyped_storage().data_ptr() == TURNED.untyped_storage().data_ptr()
    assert weight.shape == (6, 8)
    assert weight.stride() == (1, 6)


def test_the_addend_of_addmm_may_be_a_residual(fuse):
    ran = fuse(lambda m, x, r: torch.addmm(r, x, m.t), X[0], rand(5, 6), t=TURNED, rounds=True)
    node = ran.only("linear")
    assert node.args[2] is None
    assert node.args[3].target == "inputs_1"


def test_the_origin_of_the_module_is_kept(fuse):
    net = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Linear(8, 6))
    node = fuse(net, X).only("linear")
    assert next(reversed(node.meta["nn_module_stack"].values()))[0].endswith("1")
    assert node.meta["origin"] == "linear"


@pytest.mark.parametrize(
    ("function", "inputs", "reason"),
    [
        (
            lambda m, x, w: F.linear(x, w),
            (X, W),
            "the weight is not a constant with two axes",
        ),
        (
            lambda m, x, b: F.linear(x, m.w, b),
            (X, B),
            "the bias is not a constant",
        ),
        (
            lambda m, x, b: torch.addmm(b, x, m.t),
            (X[0], B),
            "the bias is not a constant",
        ),
        (
            lambda m, x: torch.addmm(m.b, x, m.t, beta=0.5),
            (X[0],),
            "beta and alpha scale the addend and the product",
        ),
        (
            lambda m, x: torch.addmm(m.b, x, m.t, alpha=2),
            (X[0],),
            "beta and alpha scale the addend and the product",
        ),
        (
            lambda m, x: torch.addmm(m.one, x, m.t),
            (X[0],),
            "bias is f32[1], expected [6]",
        ),
        (
            lambda m, x: x @ m.i,
            (torch.ones(2, 8, dtype=torch.int64),),
            "the input is i64[2,8], expected floating point with a last axis",
        ),
    ],
)
def test_refusals(fuse, function, inputs, reason):
    integers = torch.ones(8, 6, dtype=torch.int64)
    ran = fuse(function, *inputs, w=W, t=TURNED, b=B, one=B[:1].clone(), i=integers)
    assert ran.reasons("linear") == [reason]
    assert "linear" not in ran.calls()


def test_products_of_two_computed_values_are_no_near_miss(fuse):
    ran = fuse(lambda m, x: x @ x.transpose(-1, -2), X)
    assert ran.misses == []


def test_batched_weights_stay(fuse):
    ran = fuse(lambda m, x: x @ m.w, X, w=rand(2, 8, 6))
    assert ran.calls() == ["aten.matmul.default"]
