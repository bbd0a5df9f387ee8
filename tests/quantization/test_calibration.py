"""Ranges from calibration data, and quantised weights and biases."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from forge_ugc.errors import OptionError, QuantizationError
from forge_ugc.quantization.calibration import (
    METHODS,
    Observer,
    amplitude,
    quantized_bias,
    quantized_weight,
)


def normal(count, seed=0):
    return torch.randn(count, generator=torch.Generator().manual_seed(seed))


def test_max_abs_and_percentile():
    x = torch.arange(-1000, 1001) / 1000
    assert amplitude(x) == 1.0
    assert amplitude(x, "percentile", 50.0) == pytest.approx(0.5, abs=1e-3)
    assert amplitude(x, "percentile", 100.0) == 1.0


def test_mse_cuts_off_an_outlier_where_rounding_gains_more():
    x = torch.cat([normal(100_000), torch.tensor([12.0])])
    assert 3.5 < amplitude(x, "mse") < 8.0
    assert amplitude(x) == 12.0


@pytest.mark.parametrize("method", METHODS)
def test_zeros_and_nothing(method):
    assert amplitude(torch.zeros(5), method) == 0.0
    assert amplitude(torch.zeros(0), method) == 0.0
    mostly = torch.cat([torch.zeros(100_000), torch.tensor([3.0])])
    assert amplitude(mostly, method) > 0


@pytest.mark.parametrize("method", METHODS)
def test_an_observer_sees_what_all_batches_hold(method):
    x = normal(300_000)
    observer = Observer(method=method)
    for part in x.split(50_000):
        observer.observe(part)
    assert observer.amplitude() == pytest.approx(amplitude(x, method), rel=1e-6)


def test_an_observer_keeps_a_million_numbers_and_the_largest():
    observer = Observer(method="percentile", percentile=90.0)
    x = normal(3_000_000)
    x[17] = 50.0
    observer.observe(x)
    assert observer.count <= 1 << 20
    assert float(observer.largest) == 50.0
    assert observer.amplitude() == pytest.approx(1.645, rel=0.01)


@pytest.mark.parametrize(
    ("act", "kind", "message"),
    [
        (lambda: amplitude(torch.ones(2), "median"), OptionError,
         "no calibration method is called 'median'\n  fix: choose from max-abs, percentile, mse"),
        (lambda: amplitude(torch.ones(2), "percentile", 0.0), OptionError,
         "percentile is 0.0, expected above 0 and at most 100"),
        (lambda: amplitude(torch.tensor([1.0, math.nan])), QuantizationError,
         "a value of the calibration data is not finite\n"
         "  fix: look for NaN or infinity in the batches, and in what the model makes of them"),
        (lambda: quantized_bias(torch.tensor([1.0]), 1e-12), QuantizationError,
         "scale overflow: a bias does not fit 32 bits\n"
         "  why: it reaches 1e+12 steps of 1e-12\n"
         "  fix: the layer's inputs or weights are tiny beside its bias: scale them up"),
    ],
)  # fmt: skip
def test_refusals(act, kind, message):
    with pytest.raises(kind) as error:
        act()
    assert str(error.value) == message


@given(st.integers(0, 1000), st.sampled_from(METHODS))
def test_weights(seed, method):
    w = normal(64, seed).view(8, 8)
    q, step = quantized_weight(w, method)
    assert int(q.abs().max()) == 127
    assert ((q.double() * step - w).abs() <= step / 2 + (w.abs() - 127 * step).clamp(min=0)).all()


def test_weights_of_zeros_have_a_step():
    q, step = quantized_weight(torch.zeros(2, 2))
    assert (q.tolist(), step) == ([[0, 0], [0, 0]], 1.0)


def test_biases():
    assert quantized_bias(torch.tensor([0.25, -0.75, 1.0]), 0.5).tolist() == [0, -2, 2]
