"""Building and simulating a project with Vitis."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.vitis.stamps import Stamps, read_stamps
from forge_ugc.backends.aie.vitis.tools import (
    Vitis,
    compile_command,
    output_folder,
    simulate_command,
)
from forge_ugc.errors import BackendUnavailableError, SimulationError

SHOWN_LINES = 12
_LICENSE = re.compile(r"licen[sc]e", re.IGNORECASE)
_ERROR = re.compile(r"^\s*(ERROR|CRITICAL WARNING)\b|\berror:", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class VitisRun:
    """What a simulator of AMD made of a project.

    Attributes:
        outputs: files of the output ports by name, values in AMD's text format.
        stamps: when words left, by file; empty for `x86sim`, which keeps no time.
    """

    target: str
    outputs: dict[str, Path]
    stamps: dict[str, Stamps]


def run_vitis(
    vitis: Vitis,
    device: AieDevice,
    project: Path,
    *,
    target: str,
    platform: str = "",
    timeout_s: float = 3600.0,
    progress: Callable[[str], None] = lambda _: None,
) -> VitisRun:
    """Compile and simulate `project/graph.cpp`. Logs are written beside it, `vitis_*.log`.

    Not run on hardware, nor with AMD's tools, by the authors: command lines and formats are those
    of UG1076 and are tested against recorded ones.

    Raises:
        BackendUnavailableError: there is no licence for a tool.
        SimulationError: a tool failed or did not end in time, with the end of what it said.
    """
    steps = [
        ("compile", compile_command(vitis, device, target=target, platform=platform)),
        ("simulate", simulate_command(vitis, target=target)),
    ]
    for name, command in steps:
        progress(" ".join(command))
        _run(command, project, project / f"vitis_{name}_{target}.log", timeout_s)
    folder = project / output_folder(target) / "data"
    outputs = {path.name: path for path in sorted(folder.glob("*.txt"))}
    if not outputs:
        raise SimulationError(
            f"the {target} simulation wrote no outputs",
            where=str(folder),
            fix=f"look into {project / f'vitis_simulate_{target}.log'}",
        )
    stamps = {name: read_stamps(path) for name, path in outputs.items()} if target == "hw" else {}
    return VitisRun(target=target, outputs=outputs, stamps=stamps)


def _run(command: Sequence[str], folder: Path, log: Path, timeout_s: float) -> None:
    tool = Path(command[0]).name
    with log.open("w", encoding="utf-8") as stream:
        try:
            done = subprocess.run(
                command, cwd=folder, stdout=stream, stderr=subprocess.STDOUT, check=False,
                timeout=timeout_s,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise SimulationError(
                f"{tool} did not end within {timeout_s:g} s",
                where=str(log),
                why="a graph that waits for itself never ends",
                fix="forge-ugc aie sim graph.cpp names who waits for whom",
            ) from None
    if done.returncode:
        raise _failure(tool, done.returncode, log)


def _failure(tool: str, code: int, log: Path) -> BackendUnavailableError | SimulationError:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    faults = [line for line in lines if _ERROR.search(line)] or lines[-SHOWN_LINES:]
    shown = "\n".join(line.strip() for line in faults[:SHOWN_LINES])
    if any(_LICENSE.search(line) for line in faults):
        return BackendUnavailableError(
            f"{tool} has no licence",
            where=str(log),
            why=shown,
            fix="set XILINXD_LICENSE_FILE, or use forge-ugc aie sim, which needs none",
        )
    return SimulationError(f"{tool} ended with code {code}", where=str(log), why=shown)
