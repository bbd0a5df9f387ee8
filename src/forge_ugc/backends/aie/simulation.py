"""Runs the project of a design in the simulator, on jets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forge_ugc.backends.aie.design import Design, Plio
from forge_ugc.backends.aie.project.plio import read_outputs, write_inputs
from forge_ugc.backends.aie.simulator import SimulationResult, simulate
from forge_ugc.errors import SimulationError

Bytes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What a simulation gave.

    Attributes:
        outputs: i8[jets, rows, columns] for each output of the program, in its order.
        result: the account of tiles and ports.
    """

    outputs: tuple[Bytes, ...]
    result: SimulationResult


def simulate_design(
    design: Design, folder: Path, jets: Bytes, shapes: Sequence[tuple[int, int]]
) -> Simulated:
    """Run a written project on jets, one iteration of the graph for each.

    Args:
        folder: of the project, see `pipeline.build`.
        jets: i8[jets, rows, columns].
        shapes: (rows, columns) of every output.

    Raises:
        BackendUnavailableError: there is no C++ compiler.
        SimulationError: kernels do not compile, fail or deadlock, or give no whole results.
    """
    for plio in design.plios:
        if plio.is_input:
            write_inputs(folder / plio.file, list(jets), plio)
    out = folder / "simulated"
    result = simulate(
        folder / "graph.cpp", include_dirs=[folder, folder / "include"], data_dir=folder,
        out_dir=out, device=design.device.name, iterations=len(jets),
    )  # fmt: skip
    groups = _by_output([plio for plio in design.plios if not plio.is_input], len(shapes))
    outputs = []
    for plios, shape in zip(groups, shapes, strict=True):
        parts = [read_outputs(result.outputs[plio.name], plio, shape) for plio in plios]
        found = np.concatenate(parts, axis=1)
        if found.shape != (len(jets), *shape):
            raise SimulationError(
                f"the simulation of {design.name} gave {len(found)} results for {len(jets)} jets",
                where=", ".join(plio.file for plio in plios),
            )
        outputs.append(found)
    return Simulated(outputs=tuple(outputs), result=result)


def _by_output(plios: Sequence[Plio], count: int) -> list[list[Plio]]:
    """The ports of each output, each with its share of the rows, in the order of rows.

    A port that starts at row 0 is the first one of the next output.
    """
    groups: list[list[Plio]] = []
    for plio in plios:
        if plio.first_row == 0:
            groups.append([])
        groups[-1].append(plio)
    if len(groups) != count:
        raise SimulationError(f"a design has ports for {len(groups)} outputs, expected {count}")
    return [sorted(group, key=lambda plio: plio.first_row) for group in groups]
