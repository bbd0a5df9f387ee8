"""Elementwise operators, alone and in chains."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType

from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.bytecode import NotSupported
from forge_ugc.backends.cpu.elementwise_fields import elementwise_fields
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.backends.cpu.lowering import Lowering, Types, lowering
from forge_ugc.npuir.instruction import Const, Instruction, Reg, State
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.expression import Expression, parse
from forge_ugc.ops.core.pointwise import OPCODES, Pointwise, pointwise


@lowering("elementwise", *OPCODES)
class ElementwiseLowering(Lowering):
    """One pass over memory by the kernel `elementwise`, whatever the strides."""

    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        found = _expression(instruction)
        if isinstance(found, No):
            return found
        made = _fields(found, instruction, types)
        return made if isinstance(made, No) else Yes()

    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        found = _expression(instruction)
        if isinstance(found, No):
            raise TypeError(found.reason)
        made = _fields(found, instruction, emitter.types)
        if isinstance(made, No):
            raise TypeError(made.reason)
        (result,) = instruction.results
        pointers = {"in": list(found.operands), "out": result}
        emitter.step("elementwise", **pointers, **made)  # type: ignore[arg-type]


def _expression(instruction: Instruction) -> Pointwise | No:
    if instruction.opcode == "elementwise":
        operands = instruction.operands[0]
        given = operands if isinstance(operands, tuple) else ()
        return Pointwise(parse(str(instruction.attributes["code"]), len(given)), given)
    found = pointwise(instruction.opcode, instruction.operands, instruction.attributes)
    if found is None:
        return No(f"{instruction.opcode} has a kernel for its plain form alone")
    if not all(isinstance(o, Reg | Const | State) for o in found.operands):
        return No(f"{instruction.opcode} has an operand that is no tensor")
    return found


def _fields(
    found: Pointwise, instruction: Instruction, types: Types
) -> MappingProxyType[str, object] | No:
    kinds = tuple(types[o] for o in found.operands if isinstance(o, Reg | Const | State))
    return _made(found.expression, kinds, instruction.results[0].type)


@lru_cache(maxsize=4096)
def _made(
    expression: Expression, operands: tuple[TensorType, ...], result: TensorType
) -> MappingProxyType[str, object] | No:
    try:
        return MappingProxyType(elementwise_fields(expression, operands, result))
    except NotSupported as refusal:
        return No(f"elementwise: {refusal}")
