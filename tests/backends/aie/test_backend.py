"""The target `aie`: what it says of itself, what it takes and refuses."""

import shutil

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc import backends
from forge_ugc.backends.aie.backend import AieBackend
from forge_ugc.errors import OptionError, QuantizationError
from forge_ugc.npuir.parser import parse_program
from forge_ugc.options import IntegerOptions


def test_probe_says_whether_there_is_a_simulator(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert AieBackend().probe().reason == "golden integers; simulator built by g++"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    answer = AieBackend().probe()
    assert answer.available
    assert answer.reason == "golden integers; no simulator: no C++ compiler is found"


def test_a_precision_has_no_meaning():
    with pytest.raises(OptionError) as error:
        forge_ugc.compile(
            nn.Linear(8, 4), (torch.ones(2, 8),), target="aie", calibration=[torch.ones(2, 8)],
            options=forge_ugc.Options(precision="fp32"),
        )  # fmt: skip
    assert str(error.value) == (
        "precision='fp32' has no meaning for target 'aie'\n"
        "  fix: leave it out: the target computes in int8"
    )


def test_a_float_program_is_refused():
    program = parse_program("""npuir.program @p target(aie) arena(0 B) {
  input  %0 "x" : f32[4]
  %1 = aten.relu.default(%0) : f32[4] device(aie) buffer(output)
  output %1
}
""")
    with pytest.raises(QuantizationError) as error:
        backends.get("aie").compile(program, {}, forge_ugc.Options())
    assert str(error.value) == (
        "a program for target 'aie' holds aten.relu.default, which is not int8\n"
        "  fix: compile the module with calibration=batches"
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"calibration": "median"},
         "calibration is 'median'\n  fix: choose from max-abs, percentile, mse"),
        ({"softmax": "none"}, "softmax is 'none'\n  fix: choose from polynomial, table"),
        ({"run": "board"}, "run is 'board'\n  fix: choose from golden, simulator"),
        ({"percentile": 101.0}, "percentile is 101.0, expected above 0 and at most 100"),
    ],
)  # fmt: skip
def test_options_are_checked(fields, message):
    with pytest.raises(OptionError) as error:
        IntegerOptions(**fields)
    assert str(error.value) == message
