"""Every kernel template on the simulator, bit for bit as the operators' definitions say."""

import shutil
import subprocess

import numpy as np
import pytest
from aie_models import bias, jet_tagger, weights
from aie_simulation import differences

from forge_ugc.aie.layers import MHA, Dense, Pool, ReLU, ResAdd, Softmax
from forge_ugc.aie.model import AIEModel
from forge_ugc.backends.aie.device import VCK190
from forge_ugc.backends.aie.mapping.published import map_published
from forge_ugc.backends.aie.project.generate import write_project
from forge_ugc.backends.aie.simulator.builder import INCLUDE

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
RNG = np.random.default_rng(7)
SMALL = {"low": -1, "high": 2}


def small(outputs, inputs):
    """Weights of -1, 0 and 1: sums are small, and half of them odd."""
    return RNG.integers(-1, 2, (outputs, inputs), dtype=np.int8)


def chain(shape, *layers):
    model = AIEModel(shape=shape)
    for layer in layers:
        model.add_layer(layer)
    return model


def attention(rows, columns, heads, size, softmax, **rest):
    width = heads * size
    parts = {part: weights(RNG, width, columns) for part in ("query", "key", "value")}
    step = None if softmax == "none" else 0.04
    return chain(
        (rows, columns),
        MHA(heads=heads, output=weights(RNG, 9, width), softmax=softmax, score_step=step, **parts,
            **rest),
    )  # fmt: skip


def residual(scales, relu):
    """x + relu(x) with factors of its own: the ReLU stands alone, as two layers read x."""
    model = AIEModel(shape=(9, 10))
    x = model.add_layer(Dense(weight=small(12, 10), scale=1.0))
    positive = model.add_layer(ReLU(), inputs=[x])
    model.add_layer(ResAdd(scales=scales, relu=relu), inputs=[x, positive])
    return model


CASES = {
    # One, two, three, four and more columns of tiles share out the fetching differently.
    "dense, 1 column": lambda: chain((16, 8), Dense(weight=weights(RNG, 8, 8))),
    "dense, 2 columns, relu": lambda: chain((24, 16), Dense(weight=weights(RNG, 9, 12 + 4),
                                                             relu=True)),
    "dense, 3 columns, bias": lambda: chain((8, 20), Dense(weight=weights(RNG, 24, 20),
                                                           bias=bias(RNG, 24, True))),
    "dense, 5 columns, bias": lambda: chain((5, 3), Dense(weight=weights(RNG, 33, 3),
                                                          bias=bias(RNG, 33, True))),
    "ties at one half": lambda: chain((16, 8), Dense(weight=small(16, 8), scale=0.5)),
    "ties at one eighth": lambda: chain((16, 8), Dense(weight=small(16, 8), scale=0.125)),
    "all saturated": lambda: chain((16, 8), Dense(weight=weights(RNG, 16, 8), scale=1.0)),
    "large bias": lambda: chain(
        (8, 8), Dense(weight=weights(RNG, 8, 8), scale=1e-7,
                      bias=RNG.integers(-(2**31) + 2**20, 2**31 - 2**20, 8, dtype=np.int32))
    ),
    "sum with ties": lambda: residual((0.5, 0.5), relu=False),
    "sum that saturates, relu": lambda: residual((3.0, 2.5), relu=True),
    "mean": lambda: chain((20, 12), Pool(reduce="mean")),
    "mean of one row": lambda: chain((1, 8), Pool(reduce="mean", relu=True)),
    "maximum": lambda: chain((13, 20), Pool(reduce="max"), Dense(weight=weights(RNG, 5, 20))),
    "softmax, table": lambda: chain((9, 20), Softmax(method="table", score_step=0.03)),
    "softmax, polynomial": lambda: chain((9, 16), Softmax(score_step=0.03)),
    "softmax of one column": lambda: chain((9, 1), Softmax(score_step=0.03),
                                           Dense(weight=small(3, 1))),
    "attention": lambda: attention(16, 8, 1, 16, "none"),
    "attention, biases, padded": lambda: attention(
        11, 10, 3, 4, "none", key_bias=bias(RNG, 12, True), value_bias=bias(RNG, 12, True)
    ),
    "attention, table": lambda: attention(12, 8, 2, 8, "table", query_bias=bias(RNG, 16, True)),
    "attention, polynomial": lambda: attention(24, 8, 4, 12, "polynomial"),
    "attention, polynomial, padded": lambda: attention(5, 6, 2, 3, "polynomial"),
}  # fmt: skip


def inputs(shape):
    """Jets of random values, and one of the extremes."""
    jets = RNG.integers(-128, 128, (3, *shape), dtype=np.int8)
    jets[2] = np.where(jets[2] < 0, -128, 127)
    return jets


def test_every_template_and_configuration(tmp_path):
    models = [make() for make in CASES.values()]
    jets = [inputs(model.input.shape) for model in models]
    for model, given in zip(models, jets, strict=True):
        model.calibrate(given)
    wrong, found = differences(models, jets, tmp_path)
    assert {name: wrong[n] for n, name in enumerate(CASES) if n in wrong} == {}
    assert found.warnings == ()


def test_projects_compile_without_warnings(tmp_path):
    model, _ = jet_tagger(blocks=1, rows=20, heads=3, d=36, softmax="polynomial", with_bias=True)
    folder = write_project(map_published(model.program, model.tensors, VCK190), tmp_path).parent
    done = subprocess.run(
        ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-D__AIE_ARCH__=10",
         "-isystem", INCLUDE, "-I", folder / "include", "-I", folder, folder / "kernels/all.cc"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode == 0
