"""Programs as layers: what is found, what is folded, what is refused."""

import pytest
import torch
from jet_models import Normalised, Tagger, Written, with_statistics
from torch import nn
from torch.nn import functional

from forge_ugc import backends
from forge_ugc.backends.aie.quantizer.graph import Attention, Linear, evaluated, ordered
from forge_ugc.backends.aie.quantizer.recognise import recognise
from forge_ugc.capture import capture
from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.lowering import lower
from forge_ugc.options import Options
from forge_ugc.passes.pass_manager import PassManager


def layers_of(module, *args):
    backend = backends.registered()["aie"]
    captured = capture(module.eval(), args)
    PassManager(Options(passes=backend.passes)).run(captured.graph_module)
    lowered = lower(captured, backend, type(module).__name__)
    return recognise(lowered.program, lowered.tensors)


def check(module, x):
    """The layers compute what the module does; returns their names."""
    found = layers_of(module, x)
    matrix = x.reshape(-1, x.shape[-1])
    with torch.no_grad():
        values = {id(n): v for n, v, _ in
                  evaluated([o.node for o in found.outputs], matrix, found.jets)}  # fmt: skip
        got = values[id(found.outputs[0].node)].flatten()[found.outputs[0].index]
        torch.testing.assert_close(got, module(x), rtol=1e-4, atol=1e-5)
    return [node.name for node in ordered([o.node for o in found.outputs])]


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_multi_head_attention_of_torch(pool):
    names = check(Tagger(pool=pool), torch.randn(2, 5, 6))
    assert names == [
        "input", "embed", "attention_in_proj_query", "attention_in_proj_key",
        "attention_in_proj_value", "attention_attention", "attention_out_proj", "add", "up",
        "relu", "down", "add_2", "pool", "classes",
    ]  # fmt: skip


def test_attention_by_hand():
    assert check(Written(), torch.randn(3, 4, 8)) == [
        "input", "qkv_query", "qkv_key", "qkv_value", "attention", "out",
    ]  # fmt: skip


def test_batch_norms_become_part_of_linear_layers():
    names = check(with_statistics(Normalised(), 4, 5, 6), torch.randn(2, 5, 6))
    assert names == ["input", "first", "relu", "last", "pool"]


class Grouped(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.kv = nn.Linear(8, 16), nn.Linear(8, 8)

    def forward(self, x):
        q = self.q(x).view(*x.shape[:2], 4, 4).transpose(1, 2)
        k, v = self.kv(x).view(*x.shape[:2], 2, 4).transpose(1, 2).chunk(2, 1)
        out = functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return out.transpose(1, 2).flatten(2)


def test_shared_keys_are_repeated():
    assert check(Grouped(), torch.randn(2, 3, 8))[1:4] == ["q", "kv_key", "kv_value"]


class Odd(nn.Module):
    """One way to use a linear layer after another."""

    def __init__(self, act):
        super().__init__()
        self.linear, self.act = nn.Linear(8, 8), act
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.act(self, x)


@pytest.mark.parametrize(
    "act",
    [
        lambda m, x: m.linear(x / 2.0),
        lambda m, x: m.linear(m.linear(x)[..., :8] * 3.0),
        lambda m, x: m.linear(x).softmax(-1),
        lambda m, x: functional.linear(x[..., 2:6], m.linear.weight[:, :4].contiguous()),
        lambda m, x: m.linear(x.transpose(0, 1)).transpose(0, 1),
        lambda m, x: m.linear(x).max(1).values,
        lambda m, x: m.linear(x).mean(1, keepdim=True),
        lambda m, x: functional.dropout(m.linear(x), 0.5, training=False),
        lambda m, x: m.linear(x) @ m.linear.weight,
    ],
)
def test_other_ways_to_write_layers(act):
    check(Odd(act), torch.randn(2, 4, 8))


def refused(act, x=None):
    x = torch.randn(2, 4, 8) if x is None else x
    with pytest.raises(UnsupportedOperatorError) as error:
        layers_of(Odd(act), x)
    return error.value


@pytest.mark.parametrize(
    ("act", "why", "fix"),
    [
        (lambda m, x: m.linear(x[:, 0]),
         "it reads a part of the rows, or rows of mixed columns",
         "let it read every particle, or pool over them first"),
        (lambda m, x: m.linear(x) + 1.0, "it adds a constant to every jet",
         "put it into the bias of a linear layer"),
        (lambda m, x: torch.add(m.linear(x), x, alpha=2), "it has a factor alpha",
         "scale a weight instead"),
        (lambda m, x: m.linear(x) + x[:, :1],
         "its two operands are not the same rows and columns of two layers",
         "add matrices of one shape, without broadcasting"),
        (lambda m, x: m.linear(x).mean(2),
         "it is not over all particles of a jet and nothing else",
         "pool over the axis of particles alone"),
        (lambda m, x: m.linear(x).mean(0),
         "it is not over all particles of a jet and nothing else",
         "pool over the axis of particles alone"),
        (lambda m, x: m.linear(x) * m.linear(x), "it is no product with one number",
         "multiply by numbers alone"),
        (lambda m, x: m.linear(x) @ x.transpose(1, 2), "it multiplies two results of layers",
         "write it as attention"),
        (lambda m, x: m.norm(x.relu().transpose(1, 2)).relu(),
         "BatchNorm comes before it, and is part of no linear layer",
         "put it behind or in front of a linear layer"),
        (lambda m, x: m.linear(x).softmax(1), "it is not over all columns of its rows",
         "softmax(-1) of a whole matrix"),
        (lambda m, x: m.norm(m.linear(x).view(2, 8, 4)),
         "its channels are not the columns of the layer before it",
         "normalise the features, axis 1 of [jets, features, particles]"),
    ],
)  # fmt: skip
def test_what_has_no_integer_kernel_is_refused(act, why, fix):
    error = refused(act)
    assert (error.why, error.fix) == (why, fix)
    assert error.where


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = (p.unflatten(-1, (2, 4)).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def test_masks_are_refused():
    with pytest.raises(UnsupportedOperatorError) as error:
        layers_of(Masked(), torch.randn(2, 4, 8))
    assert error.value.why == "it hides keys from queries, and the integer kernel has no mask"
    assert error.value.fix == "let every particle see every other one"


class Two(nn.Module):
    def forward(self, x, y):
        return x + y


def test_inputs_are_one_matrix():
    with pytest.raises(UnsupportedOperatorError) as error:
        layers_of(Two(), torch.randn(2, 4), torch.randn(2, 4))
    assert str(error.value) == (
        "target 'aie' cannot take the inputs of Two\n"
        "  why: they are x: f32[2,4], y: f32[2,4]\n"
        "  fix: give one f32[jets, particles, features] or f32[particles, features]"
    )


def test_a_model_without_layers_is_refused():
    with pytest.raises(UnsupportedOperatorError) as error:
        layers_of(nn.Identity(), torch.randn(2, 4))
    assert str(error.value) == (
        "target 'aie' cannot return %0 of Identity\n"
        "  why: it is the result of no layer\n"
        "  fix: return what a layer computes"
    )


def test_heads_and_scale():
    found = layers_of(Written(), torch.randn(1, 4, 8))
    nodes = {node.name: node for node in ordered([o.node for o in found.outputs])}
    attention = nodes["attention"]
    assert isinstance(attention, Attention)
    assert (attention.heads, attention.columns) == (2, 16)
    assert attention.scale == pytest.approx(8**-0.5)
    assert isinstance(nodes["qkv_key"], Linear)
    assert nodes["qkv_key"].weight.shape == (16, 8)
