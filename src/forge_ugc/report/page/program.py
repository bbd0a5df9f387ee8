"""A scheduled program as JSON: its instructions, devices, and its buffers over time."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from forge_ugc.npuir.instruction import Instruction, Slot
from forge_ugc.npuir.printer import print_instruction
from forge_ugc.npuir.program import Program
from forge_ugc.report.page.strings import Strings
from forge_ugc.schedule.liveness import analyse

if TYPE_CHECKING:
    from forge_ugc.report.document import Json

NO_DEVICE = "no device"


def instructions_document(program: Program, strings: Strings) -> list[Json]:
    """[opcode, text, device, module, source] of each instruction; an empty device for views."""
    rows: list[Json] = []
    for instruction in program.instructions:
        module, source = strings.place(instruction.location)
        text = print_instruction(instruction, places=False, locations=False)
        device = "" if instruction.is_view else _device(instruction)
        opcode = strings.add(instruction.opcode)
        rows.append([opcode, strings.add(text), strings.add(device), module, source])
    return rows


def arena_document(program: Program, strings: Strings) -> list[Json]:
    """[register, type, first, last, offset, size, buffer] of each result in the arena.

    `first` is the instruction that writes it, `last` the last one that reads it; the number of
    instructions if it is stored after the last one. Bytes.
    """
    results = {result.reg: result for result in program.results()}
    rows: list[Json] = []
    for interval in analyse(program).intervals:
        result = results[interval.reg]
        if isinstance(result.place, Slot) and result.place.size_bytes:
            slot = result.place
            rows.append(
                [
                    result.reg.id, strings.add(str(result.type)), interval.start, interval.end,
                    slot.offset_bytes, slot.size_bytes, slot.buffer,
                ]
            )  # fmt: skip
    return rows


def devices_document(program: Program) -> list[Json]:
    """[device, instructions, runs] of each device, views left out; the busiest first."""
    devices = [_device(i) for i in program.instructions if not i.is_view]
    runs = Counter(devices[:1])
    runs.update(after for before, after in pairwise(devices) if before != after)
    return [[name, count, runs[name]] for name, count in Counter(devices).most_common()]


def _device(instruction: Instruction) -> str:
    return instruction.device or NO_DEVICE
