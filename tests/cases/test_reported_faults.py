"""The collected fault cases and architectures, run in one process against both front doors.

They live beside the repository (`../shared/cases`), as they do in CI; without them there is nothing
to run here. `../shared/cases/run.py --engine forge` runs the same, each in a process of its own.
"""

import os
import sys
from pathlib import Path

import pytest
import torch

CASES = Path(os.environ.get("FORGE_CASES", Path(__file__).parents[3] / "shared" / "cases"))

pytestmark = [
    pytest.mark.skipif(not CASES.is_dir(), reason=f"no collected cases at {CASES}"),
    pytest.mark.filterwarnings("ignore"),
]

if CASES.is_dir():
    sys.path.insert(0, str(CASES))
    import casekit
    import engines
    import run as case_runner

    HANDED = dict(case_runner.load_cases("handed"))
    ARCHITECTURES = case_runner.load_cases("arch")
else:
    HANDED, ARCHITECTURES = {}, {}


def check(case, engine_name):
    torch._dynamo.reset()
    threads = torch.get_num_threads()
    try:
        module, args, kwargs, verdict = case.fn()
        engine = engines.get(engine_name)
        save, load = engine.save or None, engine.load or None
        verdict(casekit.Harness(engine.compile_fn, module, args, kwargs, save, load))
    except casekit.NotOffered:
        if engine_name == "forge":
            raise
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("engine", ["forge", "forge-torch-compile"])
@pytest.mark.parametrize("name", HANDED)
def test_case(name, engine):
    check(HANDED[name], engine)


@pytest.mark.parametrize("engine", ["forge", "forge-torch-compile"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architecture(name, engine):
    check(ARCHITECTURES[name], engine)
