"""Command lines for Vitis, as UG1076 has them."""

import pytest

from forge_ugc.backends.aie.device import VCK190
from forge_ugc.backends.aie.vitis.tools import (
    compile_command,
    find_vitis,
    output_folder,
    simulate_command,
)
from forge_ugc.errors import BackendUnavailableError, OptionError


@pytest.fixture
def vitis(tmp_path):
    for tool, folder in (("v++", "bin"), ("aiesimulator", "aietools/bin"),
                         ("x86simulator", "aietools/bin")):  # fmt: skip
        path = tmp_path / folder / tool
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    return find_vitis({"XILINX_VITIS": str(tmp_path), "PATH": ""})


def test_compiling_for_a_part(vitis):
    command = compile_command(vitis, VCK190, target="hw")
    assert command[0].endswith("/bin/v++")
    assert " ".join(command[1:]) == (
        "-c --mode aie --target=hw --part=xcvc1902-vsva2197-2MP-e-S --include=. "
        "--include=include --work_dir=Work graph.cpp"
    )


def test_compiling_for_a_platform(vitis):
    command = compile_command(vitis, VCK190, target="x86sim", platform="base.xpfm")
    assert " ".join(command[1:]) == (
        "-c --mode aie --target=x86sim --platform=base.xpfm --include=. --include=include "
        "--work_dir=Work_x86sim graph.cpp"
    )


def test_simulating(vitis):
    assert simulate_command(vitis, target="hw")[1:] == ["--pkg-dir=Work", "--profile"]
    assert simulate_command(vitis, target="x86sim")[1:] == ["--pkg-dir=Work_x86sim"]
    assert output_folder("hw") == "aiesimulator_output"


@pytest.mark.parametrize("make", [compile_command, simulate_command])
def test_an_unknown_target(vitis, make):
    more = (VCK190,) if make is compile_command else ()
    with pytest.raises(OptionError) as caught:
        make(vitis, *more, target="board")
    assert str(caught.value) == "no target is called 'board'\n  fix: one of hw, x86sim"


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"PATH": ""}, "looked on PATH; XILINX_VITIS is not set"),
        (
            {"PATH": "", "XILINX_VITIS": "/none"},
            "looked on PATH and under XILINX_VITIS, /none",
        ),
    ],
)
def test_without_vitis(environment, why):
    with pytest.raises(BackendUnavailableError) as caught:
        find_vitis(environment)
    assert str(caught.value) == (
        "Vitis is not installed: no v++, aiesimulator, x86simulator\n"
        f"  why: {why}\n"
        "  fix: source settings64.sh of Vitis 2023.1 or later, or use forge-ugc aie sim, which "
        "needs g++ alone"
    )
