"""Which instruction must come before which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import torch

from forge_ugc.npuir.instruction import Device, Instruction
from forge_ugc.npuir.program import Program
from forge_ugc.ops.core.schema import has_effect, is_mutable, is_random, overload_of, unbind

NOWHERE = -1
"""Place of a view in `Dependencies.device`: it costs nothing and runs beside any device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The dependency graph of a program's instructions, by position.

    Attributes:
        followers: for each instruction the later ones that wait for it (with repetitions).
        waits: for each instruction how many entries of `followers` name it.
        device: for each instruction the number of its device, `NOWHERE` for views.
        devices: how many devices there are.
    """

    followers: list[list[int]]
    waits: list[int]
    device: list[int]
    devices: int


def dependencies(program: Program) -> Dependencies:
    """The graph: results before their readers, random draws and effects in their given order.

    A call that writes to an operand keeps its place among all instructions. Linear in the
    size of the program.

    Raises:
        UnsupportedOperatorError: an opcode is not registered in this process.
    """
    count = len(program.instructions)
    followers: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    maker: dict[object, int] = {}
    last_ordered = barrier = -1

    def after(index: int, earlier: int) -> None:
        followers[earlier].append(index)
        waits[index] += 1

    for index, instruction in enumerate(program.instructions):
        for ref in instruction.refs():
            if ref in maker:
                after(index, maker[ref])
        for result in instruction.results:
            maker[result.reg] = index
            if result.view is not None and maker.get(result.view.base, index) != index:
                after(index, maker[result.view.base])
        if barrier >= 0:
            after(index, barrier)
        if keeps_order(instruction):
            if last_ordered >= 0:
                after(index, last_ordered)
            last_ordered = index
        if is_mutable(overload_of(instruction.opcode)):
            for earlier in range(barrier + 1, index):
                after(index, earlier)
            barrier = index
    device, devices = _devices(program.instructions)
    return Dependencies(followers=followers, waits=waits, device=device, devices=devices)


def _devices(instructions: Iterable[Instruction]) -> tuple[list[int], int]:
    numbers: dict[Device | None, int] = {}
    device = [
        NOWHERE if i.is_view else numbers.setdefault(i.device, len(numbers)) for i in instructions
    ]
    return device, len(numbers)


def keeps_order(instruction: Instruction) -> bool:
    """True if the instruction draws random numbers or matters beyond its results."""
    effect, may_be_random = _nature(instruction.opcode)
    if effect or not may_be_random:
        return effect
    overload = overload_of(instruction.opcode)
    args, kwargs = unbind(overload, instruction.operands, instruction.attributes)
    return is_random(overload, args, kwargs)


@lru_cache(maxsize=4096)
def _nature(opcode: str) -> tuple[bool, bool]:
    """(has an effect, may draw random numbers)."""
    overload = overload_of(opcode)
    return has_effect(overload), torch.Tag.nondeterministic_seeded in overload.tags
