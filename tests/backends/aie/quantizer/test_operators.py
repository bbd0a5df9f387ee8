"""Operators that the quantiser takes or refuses."""

import pytest

from forge_ugc.backends.aie.quantizer.operators import base_name, refusal


def test_names():
    assert base_name("aten.add.Tensor") == "add"
    assert base_name("attention") == "attention"


@pytest.mark.parametrize(
    "opcode",
    ["aten.linear.default", "attention", "aten.relu_.default", "aten._unsafe_view.default"],
)
def test_taken(opcode):
    assert refusal(opcode) is None


@pytest.mark.parametrize(
    ("opcode", "why"),
    [
        ("aten.layer_norm.default",
         "its statistics change with every row, so it is no factor of an integer layer"),
        ("aten.gelu.default", "of the activations the integer kernels have ReLU alone"),
        ("aten.cumsum.default", "it has no integer kernel"),
        ("rms_norm",
         "its statistics change with every row, so it is no factor of an integer layer"),
    ],
)  # fmt: skip
def test_refused(opcode, why):
    assert refusal(opcode)[0] == why
