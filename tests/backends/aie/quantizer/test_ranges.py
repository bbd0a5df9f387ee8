"""Ranges of layers, and ReLU as part of the layer before."""

import math

import pytest
import torch

from forge_ugc.backends.aie.quantizer.graph import Add, Attention, Input, Linear, Relu
from forge_ugc.backends.aie.quantizer.ranges import measure, with_relu
from forge_ugc.errors import QuantizationError

SOURCE = Input(name="x", rows=3, columns=4)
SIZES = {"rows": 3, "columns": 4}
LINEAR = Linear(name="l", **SIZES, sources=(SOURCE,), weight=torch.eye(4) * 2)
RELU = Relu(name="r", **SIZES, sources=(LINEAR,))


def test_a_relu_that_alone_reads_a_layer_becomes_part_of_it():
    (node,) = with_relu([RELU])
    assert (type(node), node.name, node.relu, node.sources) == (Linear, "l", True, (SOURCE,))


def test_a_relu_beside_another_reader_stays():
    (node,) = with_relu([Add(name="a", **SIZES, sources=(LINEAR, RELU))])
    assert isinstance(node.sources[1], Relu)
    assert not node.sources[0].relu
    assert node.sources[1].sources[0] is node.sources[0]
    assert [type(n) for n in with_relu([RELU, LINEAR])] == [Relu, Linear]


def test_a_relu_of_the_input_stays():
    (node,) = with_relu([Relu(name="r", **SIZES, sources=(SOURCE,))])
    assert isinstance(node, Relu)


def test_steps():
    batches = [torch.full((6, 4), 1.0), torch.full((6, 4), -12.7)]
    attention = Attention(name="h", **SIZES, sources=(SOURCE, LINEAR, SOURCE), heads=2, scale=0.5)
    ranges = measure([attention], batches, 2, "max-abs", 100.0)
    assert ranges.steps[id(SOURCE)] == pytest.approx(0.1)
    assert ranges.steps[id(LINEAR)] == pytest.approx(0.2)
    largest = 2 * 12.7 * 25.4 * 0.5
    assert ranges.score_steps[id(attention)] == pytest.approx((largest / 127,) * 2)


def test_a_value_that_is_not_finite_names_its_layer():
    weight = torch.eye(4) * math.inf
    node = Linear(name="wide", **SIZES, sources=(SOURCE,), weight=weight)
    for batch, where in ((1.0, "layer wide"), (math.nan, "the calibration batches")):
        with pytest.raises(QuantizationError) as error:
            measure([node], [torch.full((6, 4), batch)], 2, "max-abs", 100.0)
        assert error.value.where == where
