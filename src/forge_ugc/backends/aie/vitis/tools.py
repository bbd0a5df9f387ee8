"""Finding Vitis, and the command lines of its AI Engine tools."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.errors import BackendUnavailableError, OptionError

TARGETS = ("hw", "x86sim")
_TOOLS = ("v++", "aiesimulator", "x86simulator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitis:
    """An installation: the folder of `v++`, or where `XILINX_VITIS` points."""

    compiler: Path
    aie_simulator: Path
    x86_simulator: Path


def find_vitis(environment: Mapping[str, str] | None = None) -> Vitis:
    """The tools on PATH or under XILINX_VITIS.

    Raises:
        BackendUnavailableError: one of them is missing; says which and where it was looked for.
    """
    values = os.environ if environment is None else environment
    root = values.get("XILINX_VITIS", "")
    folders = [folder for folder in values.get("PATH", "").split(os.pathsep) if folder]
    if root:
        folders += [str(Path(root) / "bin"), str(Path(root) / "aietools" / "bin")]
    found = {tool: shutil.which(tool, path=os.pathsep.join(folders)) for tool in _TOOLS}
    missing = [tool for tool, path in found.items() if path is None]
    if missing:
        raise BackendUnavailableError(
            f"Vitis is not installed: no {', '.join(missing)}",
            why="looked on PATH" + (f" and under XILINX_VITIS, {root}" if root else "; "
                                    "XILINX_VITIS is not set"),
            fix="source settings64.sh of Vitis 2023.1 or later, or use forge-ugc aie sim, which "
                "needs g++ alone",
        )  # fmt: skip
    compiler, aie, x86 = (Path(path) for path in found.values() if path is not None)
    return Vitis(compiler=compiler, aie_simulator=aie, x86_simulator=x86)


def compile_command(
    vitis: Vitis,
    device: AieDevice,
    *,
    target: str,
    graph: Path = Path("graph.cpp"),
    platform: str = "",
    include_dirs: Sequence[Path] = (Path(), Path("include")),
) -> list[str]:
    """The command that compiles a graph into the folder `Work` (UG1076, "v++ Mode AI Engine").

    Args:
        target: `hw` for the array and `aiesimulator`, `x86sim` for `x86simulator`.
        platform: name or .xpfm file; without one, the device's part is compiled for.

    Raises:
        OptionError: no such target.
    """
    if target not in TARGETS:
        raise OptionError(f"no target is called {target!r}", fix=f"one of {', '.join(TARGETS)}")
    where = f"--platform={platform}" if platform else f"--part={device.part}"
    return [
        str(vitis.compiler), "-c", "--mode", "aie", f"--target={target}", where,
        *(f"--include={folder}" for folder in include_dirs), f"--work_dir={work_folder(target)}",
        str(graph),
    ]  # fmt: skip


def simulate_command(vitis: Vitis, *, target: str) -> list[str]:
    """The command that runs what `compile_command` made (UG1076, "Simulating an AI Engine Graph").

    Raises:
        OptionError: no such target.
    """
    if target not in TARGETS:
        raise OptionError(f"no target is called {target!r}", fix=f"one of {', '.join(TARGETS)}")
    package = f"--pkg-dir={work_folder(target)}"
    if target == "x86sim":
        return [str(vitis.x86_simulator), package]
    return [str(vitis.aie_simulator), package, "--profile"]


def work_folder(target: str) -> str:
    """The work folder of a target: both may lie in one project."""
    return "Work" if target == "hw" else "Work_x86sim"


def output_folder(target: str) -> str:
    """Where a simulator puts the files of output ports."""
    return "aiesimulator_output" if target == "hw" else "x86simulator_output"
