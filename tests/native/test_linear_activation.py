"""Accuracy of the activations that linear applies, and the arguments that linear refuses."""

import numpy as np
import pytest
import torch

from forge_ugc import native
from forge_ugc.errors import InputError

VARIANTS = [isa for isa in native.kernel_table()["linear_f32"] if isa in native.cpu_isa()]
# In units in the last place, as csrc/kernels/linear/linear.h promises.
BOUND = {"none": 0, "relu": 0, "gelu": 6, "gelu_tanh": 3, "silu": 3}
PYTORCH = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}


def exact(activation, x):
    """The activation in float64, in a form that keeps the small results of negative arguments."""
    t = torch.from_numpy(x).double()
    if activation == "gelu":
        return 0.5 * t * torch.special.erfc(-t / np.sqrt(2.0))
    if activation == "gelu_tanh":
        return t * torch.sigmoid(2.0 * np.sqrt(2.0 / np.pi) * (t + 0.044715 * t**3))
    if activation == "silu":
        return t * torch.sigmoid(t)
    return PYTORCH[activation](t)


def activated(x, activation, isa):
    """Through the bias of a product without depth."""
    packed = native.linear_pack(np.empty((x.size, 0), np.float32), isa=isa)
    out = np.empty((1, x.size), np.float32)
    native.linear(np.empty((1, 0), np.float32), packed, x, activation=activation, out=out)
    return out[0]


def many_floats():
    """Every 4,093rd float of both signs, denormals included, and a grid where results vary."""
    every = np.arange(0, 2**32, 4093, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near, far = np.linspace(-18, 18, 400_001), np.linspace(-106, -12, 200_001)
    found = np.concatenate([every, near.astype(np.float32), far.astype(np.float32)])
    return found[np.isfinite(found)]


@pytest.fixture(params=VARIANTS)
def isa(request):
    return request.param


@pytest.mark.parametrize("activation", BOUND)
def test_error_in_units_in_the_last_place(isa, activation):
    x = many_floats()
    got, want = activated(x, activation, isa), exact(activation, x).numpy()
    assert np.all(np.isfinite(got))
    unit = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    assert np.all(np.abs(got - want) <= BOUND[activation] * unit)


@pytest.mark.parametrize("activation", BOUND)
def test_special_values_as_in_pytorch(isa, activation):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45], np.float32)
    # In float64: for float32, PyTorch may leave gelu to oneDNN, which makes NaN of infinity.
    want = PYTORCH[activation](torch.from_numpy(x).double()).float().numpy()
    got = activated(x, activation, isa)
    np.testing.assert_array_equal(got[:7], want[:7])
    # PyTorch rounds half of the least denormal twice.
    assert np.all(np.abs(got[7:]) <= np.float32(1e-45))


def data(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


PACKED = native.linear_pack(data(5, 8))


def refused(**changes):
    given = {"x": data(2, 8), "packed": PACKED, "out": data(2, 5)} | changes
    with pytest.raises(InputError) as caught:
        native.linear(**given)
    return str(caught.value)


def test_refusals_of_shapes():
    wrong = "linear: x is {}, expected [*, 8] for packed weights of [5, 8]"
    assert refused(x=data(2, 7)) == wrong.format("[2, 7]")
    assert refused(x=data(8)) == wrong.format("[8]")
    assert refused(out=data(3, 5)) == "linear: out is [3, 5], expected [2, 5]"
    assert refused(out=data(10)) == "linear: out is [10], expected [2, 5]"
    assert refused(bias=data(4)) == "linear: bias is [4], expected [5]"
    assert refused(bias=data(1, 5)) == "linear: bias is [1, 5], expected [5]"
    assert refused(residual=data(5)) == "linear: residual is [5], expected [2, 5] as out"
    assert refused(residual=data(2, 4)) == "linear: residual is [2, 4], expected [2, 5] as out"


def test_refusals_of_strides():
    stride = "linear: {} has stride {} on the last axis, expected 1"
    assert refused(x=data(2, 16)[:, ::2]) == stride.format("x", 2)
    assert refused(out=data(2, 10)[:, ::2]) == stride.format("out", 2)
    assert refused(bias=data(5)[::-1]) == stride.format("bias", -1)
    assert refused(residual=data(5, 2).T) == stride.format("residual", 2)


def test_refusals_of_overlaps():
    room = data(4, 8)
    assert refused(x=room[:2], out=room[1:3, :5]) == "linear: out overlaps x"
    assert refused(bias=room[0, :5], out=room[:2, :5]) == "linear: out overlaps bias"
    wrong = "linear: out overlaps residual without being residual"
    assert refused(residual=room[1:3, :5], out=room[:2, :5]) == wrong
    assert refused(residual=room[:2, 1:6], out=room[:2, :5]) == wrong
    assert refused(residual=room[1::-1, :5], out=room[:2, :5]) == wrong
    assert refused(out=torch.empty(5).expand(2, 5)) == (
        "linear: two elements of out share one address"
    )


def test_refusals_of_options():
    assert refused(shares=0) == "linear: shares is 0, expected at least 1"
    assert refused(activation="tanh") == (
        "linear: activation is 'tanh', expected one of none, relu, gelu, gelu_tanh, silu"
    )
    with pytest.raises(InputError) as caught:
        native.linear_pack(data(5, 8), isa="avx9")
    assert str(caught.value).startswith("linear_pack: no variant for 'avx9', expected one of ")


def test_refusals_of_types():
    assert refused(x=data(2, 8).astype(np.float64)) == (
        "linear takes float32 arrays in CPU memory, of which out can be written\n"
        "  why: x is float64 on cpu, packed is PackedLinear, bias is NoneType, "
        "residual is NoneType, out is float32 on cpu, activation is str, shares is int"
    )
    assert "packed is float32 on cpu" in refused(packed=data(5, 8))
    assert "out is torch.float16 on cpu" in refused(out=torch.empty(2, 5, dtype=torch.float16))
    with pytest.raises(InputError, match="weight 0 is float16 on cpu"):
        native.linear_pack(data(5, 8).astype(np.float16))


def test_refusals_of_weights():
    for weights, message in [
        ((), "linear_pack: no weight is given, expected at least one"),
        ((data(8),), "linear_pack: weight 0 is [8], expected two axes"),
        ((data(5, 8), data(5)), "linear_pack: weight 1 is [5], expected two axes"),
        ((data(5, 8), data(5, 9)), "linear_pack: weight 1 is [5, 9], expected [*, 8] as weight 0"),
    ]:
        with pytest.raises(InputError) as caught:
            native.linear_pack(*weights)
        assert str(caught.value) == message


def test_refusals_of_gates():
    given = {"x": data(2, 8), "gate": PACKED, "up": PACKED, "out": data(2, 5)}
    for changes, message in [
        ({"up": native.linear_pack(data(5, 7))}, "up is [5, 7], expected [5, 8] as gate"),
        ({"up_bias": data(4)}, "up_bias is [4], expected [5]"),
        ({"gate_bias": data(6)}, "gate_bias is [6], expected [5]"),
        ({"x": data(2, 6)}, "x is [2, 6], expected [*, 8] for packed weights of [5, 8]"),
    ]:
        with pytest.raises(InputError) as caught:
            native.gated_linear(**given | changes)
        assert str(caught.value) == f"gated_linear: {message}"


@pytest.mark.skipif(len(VARIANTS) < 2, reason="one variant only")
def test_refuses_gates_of_two_variants():
    gate, up = (native.linear_pack(data(5, 8), isa=isa) for isa in (VARIANTS[0], "none"))
    with pytest.raises(InputError) as caught:
        native.gated_linear(data(2, 8), gate, up, out=data(2, 5))
    assert str(caught.value) == (
        f"gated_linear: up is packed for none, expected {VARIANTS[0]} as gate"
    )
