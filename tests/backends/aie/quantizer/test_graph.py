"""Layers in floating point."""

import torch

from forge_ugc.backends.aie.quantizer.graph import (
    Add,
    Attention,
    Input,
    Linear,
    Pool,
    Relu,
    Softmax,
    evaluated,
    ordered,
    split_heads,
)

SOURCE = Input(name="x", rows=3, columns=4)
SIZES = {"rows": 3, "columns": 4}


def last(node, x, jets=2):
    *_, (_, value, _) = evaluated([node], x, jets)
    return value


def test_every_layer():
    torch.manual_seed(0)
    x, w, b = torch.randn(6, 4), torch.randn(4, 4), torch.randn(4)
    linear = Linear(name="l", **SIZES, sources=(SOURCE,), weight=w, bias=b, relu=True)
    y = torch.relu(x @ w.t() + b)
    torch.testing.assert_close(last(linear, x), y)
    torch.testing.assert_close(last(Add(name="a", **SIZES, sources=(linear, SOURCE)), x), y + x)
    relu = Relu(name="r", **SIZES, sources=(SOURCE,))
    torch.testing.assert_close(last(relu, x), x.relu())
    softmax = Softmax(name="s", **SIZES, sources=(SOURCE,))
    torch.testing.assert_close(last(softmax, x), x.softmax(-1))
    for kind, want in (("mean", x.view(2, 3, 4).mean(1)), ("max", x.view(2, 3, 4).amax(1))):
        pool = Pool(name="p", rows=1, columns=4, sources=(SOURCE,), kind=kind)
        torch.testing.assert_close(last(pool, x), want)
    attention = Attention(name="h", **SIZES, sources=(SOURCE, linear, SOURCE), heads=2, scale=0.3)
    q, k = (split_heads(z, 2, 2) for z in (x, y))
    want = torch.nn.functional.scaled_dot_product_attention(q, k, q, scale=0.3)
    torch.testing.assert_close(last(attention, x), want.transpose(1, 2).reshape(6, 4))


def test_sources_come_first_and_once():
    a = Relu(name="a", **SIZES, sources=(SOURCE,))
    b = Add(name="b", **SIZES, sources=(a, a))
    assert [node.name for node in ordered([b, a])] == ["x", "a", "b"]
