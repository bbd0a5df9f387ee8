"""From an int8 program to a checked, placed design and its project on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import torch

from forge_ugc.backends.aie.checks import check_design
from forge_ugc.backends.aie.design import Design
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.mapping.published import map_published
from forge_ugc.backends.aie.placement import place
from forge_ugc.backends.aie.project.generate import write_project
from forge_ugc.errors import OptionError
from forge_ugc.npuir.program import Program

Mapper = Callable[[Program, Mapping[str, torch.Tensor], AieDevice], Design]
MAPPINGS: Mapping[str, Mapper] = MappingProxyType({"published": map_published})


def map_program(
    program: Program, tensors: Mapping[str, torch.Tensor], *, device: AieDevice, mapping: str
) -> Design:
    """A design that fits the device, with a tile for each kernel.

    Args:
        program: int8 operators over one jet; tensors: its constants by name.
        mapping: a name of `MAPPINGS`.

    Raises:
        OptionError: there is no such mapping.
        UnsupportedOperatorError: it has no kernel for an instruction.
        ResourceError: the design needs more than the device has; names layer, limit and remedy.
    """
    if mapping not in MAPPINGS:
        raise OptionError(
            f"no mapping is called {mapping!r}", fix=f"one of {', '.join(sorted(MAPPINGS))}"
        )
    design = MAPPINGS[mapping](program, tensors, device)
    check_design(design)
    return place(design)


def build(
    program: Program, tensors: Mapping[str, torch.Tensor], *, device: AieDevice, mapping: str,
    folder: Path,
) -> Design:  # fmt: skip
    """Map a program and write its project; `folder / "graph.cpp"` is what simulators take.

    Raises:
        OptionError, UnsupportedOperatorError, ResourceError: as `map_program`.
        OSError: the folder cannot be written.
    """
    design = map_program(program, tensors, device=device, mapping=mapping)
    write_project(design, folder)
    return design
