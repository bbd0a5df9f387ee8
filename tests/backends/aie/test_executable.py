"""Compiled models whose integers a simulator computes."""

import pytest
import torch
from fake_simulator import install
from jet_models import Tagger

import forge_ugc
from forge_ugc.options import IntegerOptions


@pytest.mark.parametrize("jets", [1, 3])
def test_the_simulator_gives_what_the_golden_integers_do(monkeypatch, jets):
    install(monkeypatch)
    module = Tagger().eval()
    data = [torch.randn(jets, 8, 6) for _ in range(3)]
    models = [
        forge_ugc.compile(
            module, (data[0],), target="aie", calibration=data,
            options=forge_ugc.Options(integer=IntegerOptions(run=run)),
        )
        for run in ("golden", "simulator")
    ]  # fmt: skip
    for x in data:
        assert torch.equal(models[0](x), models[1](x))
    result = models[1].result
    assert result.runs.startswith("simulator: ")
    assert result.runs.endswith(" generated kernels")
    assert dict(result.host_instructions) == {"int8_quantize": 1, "int8_dequantize": 1}
    assert result.floorplan is not None
    assert "results by" in models[1].report()
