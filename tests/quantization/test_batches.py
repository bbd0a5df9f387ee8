"""Calibration batches as a user gives them."""

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.errors import OptionError, QuantizationError

X = torch.randn(4, 8)


def refused(kind, **arguments):
    with pytest.raises(kind) as error:
        forge_ugc.compile(nn.Linear(8, 4), (X,), **arguments)
    return str(error.value)


def test_a_target_of_integers_needs_data():
    assert refused(QuantizationError, target="aie") == (
        "target 'aie' computes in integers, and needs data to measure ranges on\n"
        "  fix: calibration=[batch, ...], each what the module is called with, of the compiled "
        "shape"
    )
    assert refused(QuantizationError, target="aie", calibration=[]) == (
        "there are no calibration batches\n  fix: give at least one"
    )


def test_other_targets_take_none():
    assert refused(OptionError, target="cpu", calibration=[X]) == (
        "target 'cpu' takes no calibration data\n  fix: leave out calibration="
    )


def test_a_batch_of_another_shape_is_refused():
    message = refused(QuantizationError, target="aie", calibration=[X, torch.randn(5, 8)])
    assert message.startswith("calibration batch 1 does not fit the model: ")
    assert "f32[5,8]" in message


def test_one_tensor_is_no_list_of_batches():
    assert refused(QuantizationError, target="aie", calibration=X).startswith(
        "calibration is one tensor, expected a list of batches\n"
    )


def test_a_batch_is_a_tensor_or_a_tuple_of_arguments():
    models = [
        forge_ugc.compile(nn.Linear(8, 4).eval(), (X,), target="aie", calibration=batches)
        for batches in ([X, 2 * X], [(X,), [2 * X]], (x for x in [X]))
    ]
    assert [model.result.quantization.jets for model in models] == [2, 2, 1]
