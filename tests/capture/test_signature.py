"""Calls are matched against the compiled signature, and refused with both signatures."""

import math

import pytest
import torch
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.capture.signature import bind, parameters_of
from forge_ugc.errors import InputError


class Model(nn.Module):
    def forward(self, x, mask=None, *, scale=1.0, more=()):
        y = x * scale
        for m in more:
            y = y + m
        return y if mask is None else y * mask


X, M = torch.ones(2, 3), torch.zeros(2, 3)


def signature(*args, **kwargs):
    return capture(Model(), args, kwargs).signature


def refusal(sig, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        sig.flatten(args, kwargs)
    return str(caught.value)


def test_position_and_name_are_the_same_argument():
    sig = signature(X, mask=M)
    assert [t is u for t, u in zip(sig.flatten((X, M), {}), (X, M), strict=True)] == [True, True]
    assert sig.flatten((), {"mask": M, "x": X})[1] is M
    assert sig.describe() == "x: f32[2,3], mask: f32[2,3]"


def test_a_default_may_be_given_or_left_out():
    sig = signature(X)
    assert sig.flatten((X, None), {"scale": 1.0}) == [X]


def test_containers_of_tensors():
    sig = signature(X, more=[M, (M,)[0]])
    assert len(sig.flatten((X,), {"more": [M, M]})) == 3
    assert "argument 'more[1]' is missing" not in refusal(sig, X, more=[M, M], scale=2.0)
    assert "argument 1 in 'more' is missing" in refusal(sig, X, more=[M])


def test_wrong_shape():
    text = refusal(signature(X), torch.ones(2, 4))
    assert text == (
        "input 'x' has another shape than the program was compiled for\n"
        "  why: called with x: f32[2,4]; compiled for x: f32[2,3]\n"
        "  fix: pad or cut the input, or compile again with this shape"
    )


def test_wrong_dtype():
    text = refusal(signature(X), torch.ones(2, 3, dtype=torch.float64))
    assert text == (
        "input 'x' has another dtype than the program was compiled for\n"
        "  why: called with x: f64[2,3]; compiled for x: f32[2,3]\n"
        "  fix: cast it with .to(torch.float32)"
    )


def test_missing_argument():
    text = refusal(signature(X, M), X)
    assert text == (
        "argument 'mask' is missing\n"
        "  why: called with x: f32[2,3]; compiled for x: f32[2,3], mask: f32[2,3]\n"
        "  fix: call with the compiled signature, or compile again with these arguments"
    )


def test_unknown_and_doubled_arguments():
    sig = signature(X)
    assert refusal(sig, X, y=X).startswith("the model's forward has no argument 'y'")
    assert refusal(sig, X, x=X).startswith("argument 'x' is given twice")
    assert refusal(sig, X, None, X).startswith("1 positional argument too many")


def test_a_constant_that_changed():
    text = refusal(signature(X, scale=0.5), X, scale=0.25)
    assert text.startswith("argument 'scale' is 0.25, but a constant 0.5 in the compiled program\n")


def test_a_number_where_a_tensor_was():
    text = refusal(signature(X, M), X, 3)
    assert text.startswith(
        "argument 'mask' is the constant 3; the program was compiled with a tensor"
    )


def test_true_is_not_one():
    assert "is True, but a constant 1.5" in refusal(signature(X, scale=1.5), X, scale=True)


def test_a_default_before_spread_arguments_keeps_its_place():
    class Spread(nn.Module):
        def forward(self, x, flag=1, *more):
            return x * flag + sum(more)

    captured = capture(Spread(), (X, 1, M, X))
    captured.graph_module.recompile()
    (out,) = captured.graph_module(*captured.signature.flatten((X, 1, M, X), {}))
    assert torch.equal(out, Spread()(X, 1, M, X))


def test_none_is_not_a_default_that_python_alone_can_hold():
    parameters = parameters_of(lambda x, size=(1, 2), scale=None: None)
    assert bind(parameters, (1,), {"size": None, "scale": None}) == {"x": 1, "size": None}


@pytest.mark.parametrize("default", [0.0, None])
def test_minus_zero_is_not_zero_and_nan_is_itself(default):
    class Net(nn.Module):
        def forward(self, x, a=default):
            return x / a

    zero = capture(Net(), (torch.ones(1), 0.0)).signature
    zero.flatten((torch.ones(1), 0.0), {})
    with pytest.raises(InputError):
        zero.flatten((torch.ones(1), -0.0), {})
    nan = capture(Net(), (torch.ones(1), math.nan)).signature
    nan.flatten((torch.ones(1), -math.nan), {})
