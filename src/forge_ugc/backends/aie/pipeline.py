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
from forge_ugc.backends.aie.mapping.sharded import fewest_shards, map_sharded
from forge_ugc.backends.aie.memory import assign
from forge_ugc.backends.aie.placement import place
from forge_ugc.backends.aie.project.generate import write_project
from forge_ugc.errors import OptionError
from forge_ugc.npuir.program import Program

Mapper = Callable[[Program, Mapping[str, torch.Tensor], AieDevice], Design]
MAPPINGS: Mapping[str, Mapper] = MappingProxyType(
    {"published": map_published, "sharded": fewest_shards}
)
AUTO = "published"
"""The mapping that "auto" stands for: it takes every model."""


def map_program(
    program: Program, tensors: Mapping[str, torch.Tensor], *, device: AieDevice, mapping: str
) -> Design:
    """A design that fits the device, with a tile for each kernel.

    Args:
        program: int8 operators over one jet; tensors: its constants by name.
        mapping: "auto", a name of `MAPPINGS`, or `sharded:20` for a number of shards.

    Raises:
        OptionError: there is no such mapping.
        UnsupportedOperatorError: it has no kernel for an instruction.
        ResourceError: the design needs more than the device has; names layer, limit and remedy.
    """
    name, _, shards = (AUTO if mapping == "auto" else mapping).partition(":")
    if name not in MAPPINGS or (shards and (name != "sharded" or not shards.isdecimal())):
        raise OptionError(
            f"no mapping is called {mapping!r}",
            fix=f"one of auto, {', '.join(sorted(MAPPINGS))}, sharded:N",
        )
    if shards:
        return fitted(map_sharded(program, tensors, device, shards=int(shards)))
    return fitted(MAPPINGS[name](program, tensors, device))


def fitted(design: Design) -> Design:
    """The design, checked, with a tile for each kernel and room for each buffer.

    Raises:
        ResourceError: it needs more than the device has.
    """
    check_design(design)
    placed = place(design)
    assign(placed)
    return placed


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
