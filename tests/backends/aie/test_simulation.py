"""Jets to ports of a design and results back."""

import shutil

import numpy as np
import pytest
import torch
from fake_simulator import install
from integer_taggers import jets, matrix, tagger

from forge_ugc.aie import AIEModel, Dense, ResAdd
from forge_ugc.backends.aie.device import VCK190
from forge_ugc.backends.aie.pipeline import build as plain_build
from forge_ugc.backends.aie.simulation import simulate_design
from forge_ugc.errors import OptionError, SimulationError


@pytest.mark.parametrize("rows", [8, 10])
def test_a_model_runs_through_its_ports(monkeypatch, tmp_path, rows):
    install(monkeypatch)
    model = tagger(rows=rows)
    x = jets(3, model, count=3)
    run = model.forward(x, folder=tmp_path / "p")
    assert np.array_equal(run.outputs, model.golden(x))
    assert run.comparison.matches
    assert (tmp_path / "p" / "graph.cpp").is_file()
    lines = str(run).splitlines()
    assert lines[0].startswith("15 of 15 values equal; ")
    assert lines[2:] == [
        "latency: 1,000 cycles, 0.80 us", "interval: 500 cycles, 0.40 us",
    ]  # fmt: skip


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler is installed")
def test_the_generated_kernels_give_golden_results():
    random = np.random.default_rng(0)
    model = AIEModel(shape=(8, 8))
    x = model.add_layer(Dense(weight=matrix(random, 8, 8)))
    y = model.add_layer(Dense(weight=matrix(random, 8, 8), relu=True, weight_step=1 / 256))
    model.add_layer(ResAdd(), inputs=[x, y])
    values = jets(5, model)
    run = model.forward(values)
    assert np.array_equal(run.outputs, model.golden(values))
    assert len(run.result.kernels) == 3


def test_a_single_jet_gives_a_single_result(monkeypatch):
    install(monkeypatch)
    model = tagger()
    x = jets(3, model, count=1)[0]
    assert model.forward(x).outputs.shape == (1, 5)


def test_a_fault_is_named_with_its_layer(monkeypatch):
    def wrong(program, outputs):
        if program.types()[program.outputs[0]].shape == (8, 8):
            return outputs
        return [output ^ 1 for output in outputs]

    install(monkeypatch, wrong)
    model = tagger()
    with pytest.raises(SimulationError) as error:
        model.forward(jets(3, model))
    assert error.value.what == "the kernels of model tagger differ from its golden results"
    assert error.value.where.startswith("layer pool, jet 0, tile 0, 0, lane 0 (row 0, column 0): ")
    assert error.value.why.startswith("0 of 10 values equal; ")


def test_a_wrong_number_of_results_is_refused(monkeypatch, tmp_path):
    build = install(monkeypatch, lambda program, outputs: outputs[:1])
    model = tagger()
    x = jets(3, model)
    model.calibrate(x)
    design = build(
        model.program, model.tensors, device=VCK190, mapping="published", folder=tmp_path
    )
    with pytest.raises(SimulationError) as error:
        simulate_design(design, tmp_path, x, [(1, 5)])
    assert str(error.value) == (
        "the simulation of tagger gave 1 results for 2 jets\n  at: data/output.txt"
    )
    with pytest.raises(SimulationError) as error:
        simulate_design(design, tmp_path, x, [(1, 5), (1, 5)])
    assert str(error.value) == "a design has ports for 1 outputs, expected 2"


def test_compile_writes_the_project_alone(tmp_path):
    model = tagger()
    model.calibrate(jets(0, model))
    design = model.compile(tmp_path / "p")
    assert (design.name, design.mapping) == ("tagger", "published")
    assert (tmp_path / "p" / "kernels" / "embed.cc").is_file()


def test_an_unknown_mapping_is_refused(tmp_path):
    model = AIEModel(shape=(4, 8))
    model.add_layer(Dense(weight=torch.eye(8, dtype=torch.int8), scale=1.0))
    with pytest.raises(OptionError) as error:
        plain_build(model.program, model.tensors, device=VCK190, mapping="best", folder=tmp_path)
    assert str(error.value).startswith("no mapping is called 'best'\n  fix: one of auto, published")
