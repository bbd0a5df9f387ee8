"""Accuracy of the activations that linear applies."""

import math

import numpy as np
import pytest
import torch
from dense_support import ACTIVATIONS, DTYPES, linear, pack, variants

VARIANTS = variants("linear_f32")
# In units in the last place, as csrc/kernels/linear/linear.h promises.
BOUND = dict.fromkeys(ACTIVATIONS, 3) | {"none": 0, "relu": 0, "gelu": 6, "tanh": 6}
PYTORCH = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
    "tanh": torch.tanh,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "sigmoid": torch.sigmoid,
}


def exact(activation, x):
    """The activation in float64, in a form that keeps the small results of negative arguments."""
    t = torch.from_numpy(x).double()
    if activation == "gelu":
        return 0.5 * t * torch.special.erfc(-t / math.sqrt(2.0))
    if activation == "gelu_tanh":
        return t * torch.sigmoid(2.0 * math.sqrt(2.0 / math.pi) * (t + 0.044715 * t**3))
    if activation == "silu":
        return t * torch.sigmoid(t)
    return PYTORCH[activation](t)


def activated(x, activation, isa, precision="f32", dtype=torch.float32):
    """Through the bias of a product without depth."""
    empty = torch.empty(1, 0, dtype=DTYPES[precision])
    packed = pack(empty.expand(x.size, 0), isa=isa, precision=precision)
    out = torch.empty(1, x.size, dtype=dtype)
    linear(empty, packed, torch.from_numpy(x), activation=activation, out=out)
    return out[0].float().numpy()


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


KERNELS = [(p, isa) for p in ("f32", "bf16") for isa in variants(f"linear_{p}")]


@pytest.mark.parametrize(("precision", "isa"), KERNELS)
@pytest.mark.parametrize("activation", BOUND)
def test_error_of_bfloat16_results(precision, isa, activation):
    x = many_floats()
    x = x[np.abs(x) < 3e38]  # what is still finite in bfloat16
    got = activated(x, activation, isa, precision, torch.bfloat16)
    want = exact(activation, x).numpy()
    # Rounding and 2^-13, of what is not so small that it may become zero.
    assert np.all(np.abs(got - want) <= (2.0**-8 + 2.0**-13 * 1.01) * np.abs(want) + 2.0**-119)


@pytest.mark.parametrize(("precision", "isa"), KERNELS)
@pytest.mark.parametrize("activation", BOUND)
def test_special_values_of_bfloat16_results(precision, isa, activation):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38], np.float32)
    want = PYTORCH[activation](torch.from_numpy(x).double()).bfloat16().float().numpy()
    got = activated(x, activation, isa, precision, torch.bfloat16)
    np.testing.assert_allclose(got, want, rtol=2.0**-7, atol=0)


@pytest.mark.parametrize("activation", BOUND)
def test_special_values_as_in_pytorch(isa, activation):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45], np.float32)
    # In float64: for float32, PyTorch may leave gelu to oneDNN, which makes NaN of infinity.
    want = PYTORCH[activation](torch.from_numpy(x).double()).float().numpy()
    got = activated(x, activation, isa)
    np.testing.assert_array_equal(got[:7], want[:7])
    # PyTorch rounds half of the least denormal twice.
    assert np.all(np.abs(got[7:] - want[7:]) <= np.float32(1e-45))
