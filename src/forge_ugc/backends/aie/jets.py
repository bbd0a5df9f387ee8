"""The part of a compiled program that the array runs, for one jet at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from forge_ugc.errors import InternalError
from forge_ugc.npuir.instruction import Const, Instruction, Reg, Result
from forge_ugc.npuir.program import InputDecl, Program
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.int8_dequantize import Int8Dequantize
from forge_ugc.ops.int8_quantize import Int8Quantize


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayPart:
    """What lies between `int8_quantize` and the `int8_dequantize` of each output.

    Attributes:
        program: over i8[rows, columns], one jet; one input.
        tensors: its constants.
        jets: how many one call of the whole program holds.
        step: of the input; steps: of every output.
    """

    program: Program
    tensors: Mapping[str, torch.Tensor]
    jets: int
    step: float
    steps: tuple[float, ...]


def array_part(program: Program, tensors: Mapping[str, torch.Tensor]) -> ArrayPart:
    """Take the integer part out of a program that the quantiser made.

    Raises:
        InternalError: the program is not of its form.
    """
    same: dict[Reg, Reg] = {}
    kept: list[Instruction] = []
    steps: dict[Reg, float] = {}
    outputs: dict[Reg, Reg] = {}
    first: tuple[Reg, TensorType] | None = None
    step = 1.0
    for instruction in program.instructions:
        result = instruction.results[0]
        if instruction.is_view:
            source = instruction.operands[0]
            if first is not None and source == first[0] and not kept:
                first = (result.reg, result.type)
            elif isinstance(source, Reg):
                same[result.reg] = same.get(source, source)
        elif instruction.opcode == Int8Quantize.name:
            first, step = (result.reg, result.type), _step(instruction)
        elif instruction.opcode == Int8Dequantize.name:
            source = instruction.operands[0]
            if isinstance(source, Reg):
                outputs[result.reg] = same.get(source, source)
                steps[result.reg] = _step(instruction)
        else:
            kept.append(_for_one_jet(instruction, same))
    if first is None or first[1].rank != 3 or not all(ref in outputs for ref in program.outputs):
        raise InternalError(
            f"{program.name} is no program of the quantiser",
            fix="compile the module with target='aie'",
        )
    read = {ref.name for i in kept for ref in i.refs() if isinstance(ref, Const)}
    part = Program(
        name=program.name, target="aie",
        inputs=(InputDecl(first[0], program.inputs[0].name, _jet(first[1])),),
        constants=tuple(c for c in program.constants if c.name in read),
        instructions=tuple(kept),
        outputs=tuple(outputs[ref] for ref in program.outputs if isinstance(ref, Reg)),
    )  # fmt: skip
    return ArrayPart(
        program=part, tensors={name: tensors[name] for name in read}, jets=first[1].shape[0],
        step=step, steps=tuple(steps[ref] for ref in program.outputs if isinstance(ref, Reg)),
    )  # fmt: skip


def _step(instruction: Instruction) -> float:
    value = instruction.attributes["step"]
    if not isinstance(value, float):
        raise InternalError(f"{instruction.opcode} has the step {value!r}")
    return value


def _jet(kind: TensorType) -> TensorType:
    return TensorType.of(kind.dtype, kind.shape[1:])


def _for_one_jet(instruction: Instruction, same: Mapping[Reg, Reg]) -> Instruction:
    result = instruction.results[0]
    operands = tuple(same.get(o, o) if isinstance(o, Reg) else o for o in instruction.operands)
    return replace(
        instruction, operands=operands, device=None,
        results=(Result(result.reg, _jet(result.type)),),
    )  # fmt: skip
