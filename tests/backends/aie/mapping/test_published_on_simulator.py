"""The published jet tagger and random models on the simulator, bit for bit.

FORGE_AIE_SEEDS, FORGE_AIE_RANDOM_PROGRAMS and FORGE_AIE_RANDOM_MODELS (of a program) make the runs
longer than in CI.
"""

import itertools
import os
import shutil

import pytest
from aie_models import jet_tagger, random_models
from aie_simulation import differences
from hypothesis import HealthCheck, Phase, given, settings

from forge_ugc.aie.comparison import refuse_vacuous

SEEDS = int(os.environ.get("FORGE_AIE_SEEDS", "1"))
MODELS = int(os.environ.get("FORGE_AIE_RANDOM_MODELS", "6"))
PROGRAMS = int(os.environ.get("FORGE_AIE_RANDOM_PROGRAMS", "1"))
CONFIGURATIONS = [
    {"heads": heads, "with_bias": with_bias, "softmax": softmax}
    for heads, with_bias, softmax in itertools.product(
        (4, 1), (False, True), ("none", "polynomial")
    )
]
if SEEDS == 1:  # in CI one with and one without softmax, of four heads and of one
    CONFIGURATIONS = [CONFIGURATIONS[1], CONFIGURATIONS[6]]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++"),
]


@pytest.mark.parametrize("first", range(0, SEEDS, 4))
def test_the_jet_tagger(first, tmp_path):
    """Four seeds of every configuration at most in one program, one jet each."""
    seeds = range(first, min(first + 4, SEEDS))
    made = [jet_tagger(seed, **kind) for kind in CONFIGURATIONS for seed in seeds]
    models, jets = [model for model, _ in made], [jets[:1] for _, jets in made]
    for model, given_jets in made:
        refuse_vacuous(model.golden(given_jets[:1]), model.name)
    wrong, found = differences(models, jets, tmp_path)
    assert wrong == {}
    assert found.warnings == ()


@settings(
    max_examples=1 + PROGRAMS,  # the first one is the simplest
    deadline=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck), print_blob=True,
)  # fmt: skip
@given(random_models(count=MODELS))
def test_random_models(tmp_path_factory, made):
    """Several models in a program. Not shrunk: a program takes its time; the models are printed."""
    for model, jets in made:
        model.calibrate(jets)
    wrong, _ = differences([m for m, _ in made], [j for _, j in made],
                           tmp_path_factory.mktemp("random"))  # fmt: skip
    assert {str(made[number][0].program): share for number, share in wrong.items()} == {}
