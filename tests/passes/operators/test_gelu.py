"""GELU written by hand, in the forms that models use."""

import math

import pytest
import torch
import torch.nn.functional as F

K = math.sqrt(2 / math.pi)
X = torch.linspace(-6, 6, 241)

ERF = {
    "bert": lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))),
    "half first": lambda x: 0.5 * x * (1 + torch.erf(x * 0.7071067811865476)),
    "half last": lambda x: x * (torch.erf(x / 1.4142135623730951) + 1) * 0.5,
    "halved": lambda x: x * (1 + torch.erf(x / 2**0.5)) / 2,
    "inner half": lambda x: x * (0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))),
}
TANH = {
    "gpt2": lambda x: 0.5 * x * (1.0 + torch.tanh(K * (x + 0.044715 * torch.pow(x, 3.0)))),
    "by products": lambda x: x * 0.5 * (torch.tanh(K * (x + 0.044715 * x * x * x)) + 1),
    "bloom": lambda x: x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))),
    "fast": lambda x: 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x))),
    "square": lambda x: 0.5 * x * (1 + torch.tanh(K * x * (1 + 0.044715 * torch.square(x)))),
}


@pytest.mark.parametrize("name", ERF)
def test_by_the_error_function(fuse, name):
    ran = fuse(lambda m, x: ERF[name](x), X, rounds=True)
    assert ran.calls() == ["aten.gelu.default"]
    assert ran.only("aten.gelu.default").kwargs == {"approximate": "none"}


@pytest.mark.parametrize("name", TANH)
def test_by_tanh(fuse, name):
    ran = fuse(lambda m, x: TANH[name](x), X, rounds=True)
    assert ran.calls() == ["aten.gelu.default"]
    assert ran.only("aten.gelu.default").kwargs == {"approximate": "tanh"}


@pytest.mark.parametrize("name", ["gpt2", "bloom"])
def test_behind_a_linear_layer_it_becomes_its_activation(fuse, name):
    ran = fuse(lambda m, x: TANH[name](F.linear(x, m.w)), torch.randn(5, 8), w=torch.randn(6, 8),
               rounds=True)  # fmt: skip
    assert ran.calls() == ["linear"]
    assert ran.only("linear").kwargs.items() >= {"activation": "gelu_tanh"}.items()


def test_before_and_after(fuse, pin):
    ran = fuse(lambda m, x: TANH["gpt2"](x), X, rounds=True)
    pin("gelu", ran.before + "\n" + ran.after)


def test_an_input_that_is_itself_a_sum_or_a_scaled_value(fuse):
    assert fuse(lambda m, x: ERF["bert"](x * 2 + x.sin()), X, rounds=True).rules["gelu"] == 1
    assert fuse(lambda m, x: ERF["bert"](x * 2), X, rounds=True).rules["gelu"] == 1
    assert fuse(lambda m, x: TANH["gpt2"](3 * x), X, rounds=True).rules["gelu"] == 1


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda m, x: 0.5 * x * (1 + torch.tanh(K * (x + 0.05 * x**3))),
            "the argument of aten.tanh.default is not the one of gelu",
        ),
        (
            lambda m, x: 0.5 * x * (1 + torch.erf(x)),
            "the argument of aten.erf.default is not the one of gelu",
        ),
        (
            lambda m, x: x * (1 + torch.erf(x / math.sqrt(2))),
            "the product with x / 2 is missing or read before it is complete",
        ),
        (
            lambda m, x: 0.5 * x * x * (1 + torch.erf(x / math.sqrt(2))),
            "the product with x / 2 is missing or read before it is complete",
        ),
        (
            lambda m, x: x.exp() * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
            "the product with x / 2 is missing or read before it is complete",
        ),
        (
            lambda m, x: (p := 1 + torch.erf(x / math.sqrt(2))) * 0.5 * x + p,
            "the product with x / 2 is missing or read before it is complete",
        ),
        (
            lambda m, x: 0.5 / x * (1 + torch.erf(x / math.sqrt(2))),
            "the product with x / 2 is missing or read before it is complete",
        ),
    ],
)
def test_refusals(fuse, function, reason):
    ran = fuse(function, X)
    assert ran.reasons("gelu") == [reason]
    assert ran.rules["gelu"] == 0


def test_a_tanh_that_is_shifted_by_something_else_is_no_gelu(fuse):
    assert fuse(lambda m, x: 0.5 * x * (2 + torch.tanh(x)), X).misses == []


def test_in_bf16_every_step_rounds(fuse):
    ran = fuse(lambda m, x: TANH["gpt2"](x), X.bfloat16())
    assert ran.reasons("gelu") == ["the chain computes in bf16[241], where every step rounds"]
