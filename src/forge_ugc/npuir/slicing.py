"""The part of a program that computes one register."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from forge_ugc.npuir.instruction import Const, Ref, Reg
from forge_ugc.npuir.program import Program

T = TypeVar("T")


def upto(program: Program, tensors: Mapping[str, T], reg: Reg) -> tuple[Program, dict[str, T]]:
    """The instructions that a register depends on, with that register as the only output.

    All inputs stay; constants that nothing reads are left out, as are stores.

    Returns:
        The program, and those of the tensors that it reads.
    """
    needed: set[Ref] = {reg}
    kept = []
    for instruction in reversed(program.instructions):
        if any(result.reg in needed for result in instruction.results):
            kept.append(instruction)
            needed.update(instruction.refs())
    for const in reversed(program.constants):
        if Const(const.name) in needed and const.view is not None:
            needed.add(const.view.base)
    constants = tuple(c for c in program.constants if Const(c.name) in needed)
    part = replace(
        program, instructions=tuple(reversed(kept)), constants=constants, stores=(), outputs=(reg,)
    )
    names = {c.name for c in constants} | {s.name for s in program.states}
    return part, {name: tensor for name, tensor in tensors.items() if name in names}
