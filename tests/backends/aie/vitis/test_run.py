"""Runs of Vitis, with scripts in the place of its tools."""

import pytest

from forge_ugc.backends.aie.device import VCK190
from forge_ugc.backends.aie.vitis.run import run_vitis
from forge_ugc.backends.aie.vitis.tools import Vitis
from forge_ugc.errors import BackendUnavailableError, SimulationError

WRITES = """
mkdir -p aiesimulator_output/data x86simulator_output/data
printf 'T 812.8 ns\\n1 2 3 4\\nT 816 ns\\nTLAST\\n5 6 7 8\\n' > aiesimulator_output/data/y.txt
printf '1 2 3 4\\n5 6 7 8\\n' > x86simulator_output/data/y.txt
"""


def tools(folder, compiler="", simulator=WRITES):
    """Scripts that note how they are called."""
    paths = []
    for name, body in (("v++", compiler), ("aiesimulator", simulator), ("x86simulator", simulator)):
        path = folder / name
        path.write_text(f'#!/bin/sh\necho "{name} $@" >> calls\n{body}')
        path.chmod(0o755)
        paths.append(path)
    return Vitis(compiler=paths[0], aie_simulator=paths[1], x86_simulator=paths[2])


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    return made


def test_a_run_compiles_and_simulates(tmp_path, project):
    seen = []
    run = run_vitis(tools(tmp_path), VCK190, project, target="hw", progress=seen.append)
    assert (project / "calls").read_text().splitlines() == [
        "v++ -c --mode aie --target=hw --part=xcvc1902-vsva2197-2MP-e-S --include=. "
        "--include=include --work_dir=Work graph.cpp",
        "aiesimulator --pkg-dir=Work --profile",
    ]
    assert [line.split()[0].rsplit("/", 1)[1] for line in seen] == ["v++", "aiesimulator"]
    assert list(run.outputs) == ["y.txt"]
    assert run.stamps["y.txt"].ns == (812.8, 816.0)


def test_the_functional_simulator_keeps_no_time(tmp_path, project):
    run = run_vitis(tools(tmp_path), VCK190, project, target="x86sim")
    assert run.outputs["y.txt"].parent.parent.name == "x86simulator_output"
    assert run.stamps == {}


def failure(tmp_path, project, error=SimulationError, timeout_s=60.0, **bodies):
    with pytest.raises(error) as caught:
        run_vitis(tools(tmp_path, **bodies), VCK190, project, target="hw", timeout_s=timeout_s)
    return str(caught.value).replace(str(project), "PROJECT")


def test_what_the_compiler_says_is_shown(tmp_path, project):
    said = "echo INFO: reading; echo 'ERROR: [aiecompiler 77-753] no fit'; exit 3"
    assert failure(tmp_path, project, compiler=said) == (
        "v++ ended with code 3\n"
        "  at: PROJECT/vitis_compile_hw.log\n"
        "  why: ERROR: [aiecompiler 77-753] no fit"
    )


def test_a_missing_licence(tmp_path, project):
    said = "echo 'ERROR: [Common 17-345] A valid license was not found for AIEBuild'; exit 1"
    assert failure(tmp_path, project, BackendUnavailableError, compiler=said) == (
        "v++ has no licence\n"
        "  at: PROJECT/vitis_compile_hw.log\n"
        "  why: ERROR: [Common 17-345] A valid license was not found for AIEBuild\n"
        "  fix: set XILINXD_LICENSE_FILE, or use forge-ugc aie sim, which needs none"
    )


def test_a_simulation_that_hangs(tmp_path, project):
    assert failure(tmp_path, project, simulator="exec sleep 60", timeout_s=0.5) == (
        "aiesimulator did not end within 0.5 s\n"
        "  at: PROJECT/vitis_simulate_hw.log\n"
        "  why: a graph that waits for itself never ends\n"
        "  fix: forge-ugc aie sim graph.cpp names who waits for whom"
    )


def test_a_simulation_without_results(tmp_path, project):
    assert failure(tmp_path, project, simulator="") == (
        "the hw simulation wrote no outputs\n"
        "  at: PROJECT/aiesimulator_output/data\n"
        "  fix: look into PROJECT/vitis_simulate_hw.log"
    )
