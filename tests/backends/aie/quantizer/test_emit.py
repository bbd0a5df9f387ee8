"""Layers with known ranges as int8 operators."""

import pytest
import torch

from forge_ugc.backends.aie.quantizer.emit import Emitter
from forge_ugc.backends.aie.quantizer.graph import (
    Add,
    Attention,
    Input,
    Linear,
    Pool,
    Relu,
    Softmax,
    ordered,
)
from forge_ugc.backends.aie.quantizer.ranges import Ranges
from forge_ugc.errors import QuantizationError
from forge_ugc.quantization.builder import Builder

SOURCE = Input(name="x", rows=3, columns=4)
SIZES = {"rows": 3, "columns": 4}


def emitted(node, step=1.0):
    """Opcodes, attributes and layers of the operators of a node; steps are 1 unless given."""
    ranges = Ranges(
        steps=dict.fromkeys((id(n) for n in ordered([node])), step),
        score_steps={id(n): (0.5, 0.25) for n in ordered([node]) if isinstance(n, Attention)},
    )
    builder = Builder(name="p")
    x = builder.input("x", (2, 3, 4), 1.0)
    Emitter(builder, ranges, "polynomial", "max-abs").emit([node], x)
    return [(i.opcode, dict(i.attributes), i.location.module) for i in builder.instructions]


def test_a_linear_layer():
    weight = torch.eye(4) * 127
    node = Linear(name="l", **SIZES, sources=(SOURCE,), weight=weight, relu=True)
    assert emitted(node) == [("int8_linear", {"multiplier": 1, "shift": 0, "relu": True}, "l")]
    assert emitted(node, 0.0) == emitted(node)


def test_a_sum_a_pool_a_relu_and_a_softmax():
    add = Add(name="a", **SIZES, sources=(SOURCE, SOURCE))
    assert emitted(add, 4.0) == [
        ("int8_add", {"multiplier_a": 1, "multiplier_b": 1, "shift": 2}, "a")
    ]
    mean = Pool(name="p", rows=1, columns=4, sources=(SOURCE,), kind="mean")
    assert emitted(mean)[0][1]["multiplier"] / 2 ** emitted(mean)[0][1]["shift"] == pytest.approx(
        1 / 3, rel=1e-4
    )
    most = Pool(name="p", rows=1, columns=4, sources=(SOURCE,), kind="max")
    assert emitted(most)[0][1] == {"kind": "max", "multiplier": 1, "shift": 0, "keepdim": True}
    assert emitted(Relu(name="r", **SIZES, sources=(SOURCE,)))[0][0] == "aten.relu.default"
    assert emitted(Softmax(name="s", **SIZES, sources=(SOURCE,)))[0][1]["method"] == "polynomial"


def test_attention():
    node = Attention(name="h", **SIZES, sources=(SOURCE,) * 3, heads=2, scale=0.5)
    ((_, fields, _),) = emitted(node)
    assert (fields["score_multipliers"], fields["score_shifts"]) == ((1, 2), (0, 0))
    assert fields["context_multipliers"] == (1 << 29, 1 << 29)
    assert fields["context_shifts"] == (29, 29)


def test_a_factor_out_of_range_names_its_layer():
    node = Linear(name="tiny", **SIZES, sources=(SOURCE,), weight=torch.eye(4) * 1e-30)
    with pytest.raises(QuantizationError) as error:
        emitted(node)
    assert error.value.where == "layer tiny"
    assert error.value.what.startswith("scale overflow: ")


def test_names_are_unique():
    first = Linear(name="l", **SIZES, sources=(SOURCE,), weight=torch.eye(4) * 127)
    second = Linear(name="l", **SIZES, sources=(first,), weight=torch.eye(4) * 127)
    assert [name for _, _, name in emitted(second)] == ["l", "l_2"]
