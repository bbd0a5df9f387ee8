"""Prints a program as NPUIR text."""

from __future__ import annotations

from collections.abc import Mapping

from forge_ugc.errors import VerificationError
from forge_ugc.npuir import lexical
from forge_ugc.npuir.instruction import (
    Attribute,
    Const,
    External,
    Instruction,
    Operand,
    Ref,
    Reg,
    Result,
    Slot,
    SourceLocation,
    State,
    Symbol,
    ViewOf,
)
from forge_ugc.npuir.program import ConstDecl, InputDecl, Program, StateDecl, Store

_INT_LIMIT = 10 ** (lexical.MAX_NUMBER_CHARS - 1)


def print_program(program: Program, *, places: bool = True, locations: bool = True) -> str:
    """NPUIR text of a program; `parse_program` gives back an equal one. Linear in its size.

    Equal programs give equal text: attributes are sorted by name.

    Args:
        program: any program, valid or not.
        places: print views, buffers and the arena.
        locations: print where in the model each instruction comes from.

    Raises:
        VerificationError: an attribute nests too deep or a number is too long for text.
    """
    arena = ""
    if places and program.arena_bytes is not None:
        arena = f" arena({program.arena_bytes} B)"
    target = lexical.word(program.target)
    rows = [f"npuir.program @{lexical.name(program.name)} target({target}){arena} {{"]
    rows += [f"  {print_input(i)}" for i in program.inputs]
    rows += [f"  {print_const(c, places=places)}" for c in program.constants]
    rows += [f"  {print_state(s)}" for s in program.states]
    rows += [
        "  " + print_instruction(i, places=places, locations=locations)
        for i in program.instructions
    ]
    rows += [f"  {print_store(s)}" for s in program.stores]
    if program.outputs:
        rows.append(f"  output {', '.join(map(print_ref, program.outputs))}")
    rows.append("}\n")
    return "\n".join(rows)


def print_input(declared: InputDecl) -> str:
    """The line of an input."""
    return f"input  {declared.reg} {lexical.quote(declared.name)} : {declared.type}"


def print_const(declared: ConstDecl, *, places: bool = True) -> str:
    """The line of a constant; without places it does not say that it is a view."""
    view = f" {_view(declared.view)}" if declared.view is not None and places else ""
    return f"const  @{lexical.name(declared.name)} : {declared.type}{view}"


def print_state(declared: StateDecl) -> str:
    """The line of a state."""
    return f"state  ${lexical.name(declared.name)} : {declared.type}"


def print_store(store: Store) -> str:
    """The line of a store."""
    return f"store  {print_ref(store.target)}, {print_ref(store.value)}"


def print_instruction(
    instruction: Instruction, *, places: bool = True, locations: bool = True
) -> str:
    """The line of one instruction.

    Raises:
        VerificationError: an attribute nests too deep or a number is too long for text.
    """
    results = instruction.results
    left = f"{', '.join(str(r.reg) for r in results)} = " if results else ""
    opcode = instruction.opcode
    opcode = lexical.quote(opcode) if opcode in lexical.ITEMS else lexical.word(opcode)
    text = f"{left}{opcode}({', '.join(map(_operand, instruction.operands))})"
    if instruction.attributes:
        text += " " + _attributes(instruction.attributes)
    if results:
        text += f" : {', '.join(str(r.type) for r in results)}"
    if instruction.device is not None:
        text += f" device({lexical.word(instruction.device)})"
    if places and any(r.view is not None or r.place is not None for r in results):
        text += " " + ", ".join(map(_memory, results))
    if locations and instruction.location is not None:
        text += " " + _location(instruction.location)
    return text


def _attributes(attributes: Mapping[str, Attribute]) -> str:
    pairs = (f"{lexical.word(k)} = {_value(v, 0)}" for k, v in sorted(attributes.items()))
    return "{" + ", ".join(pairs) + "}"


def _value(value: Attribute, depth: int) -> str:
    if isinstance(value, str):
        return lexical.quote(value)
    if isinstance(value, Symbol):
        return lexical.symbol(value.name)
    if isinstance(value, tuple):
        if depth == lexical.MAX_NESTING:
            raise VerificationError(
                "an attribute has no text form",
                why=f"its lists nest deeper than {lexical.MAX_NESTING}",
            )
        return f"[{', '.join(_value(item, depth + 1) for item in value)}]"
    return _scalar(value)


def _scalar(value: float | None) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not -_INT_LIMIT < value < _INT_LIMIT:
        raise VerificationError(
            "an integer has no text form",
            why=f"it has {lexical.MAX_NUMBER_CHARS} digits or more",
        )
    return repr(value)


def _operand(operand: Operand) -> str:
    if isinstance(operand, Reg):
        return f"%{operand.id}"
    if isinstance(operand, tuple):
        return f"[{', '.join(map(_operand, operand))}]"
    if isinstance(operand, Const | State):
        return print_ref(operand)
    return _scalar(operand)


def print_ref(ref: Ref) -> str:
    """A register, constant or state as operands show it."""
    if isinstance(ref, Reg):
        return f"%{ref.id}"
    return f"{'@' if isinstance(ref, Const) else '$'}{lexical.name(ref.name)}"


def _memory(result: Result) -> str:
    parts = []
    if result.view is not None:
        parts.append(_view(result.view))
    if isinstance(result.place, Slot):
        slot = result.place
        parts.append(f"buffer({slot.buffer} @ {slot.offset_bytes}, {slot.size_bytes} B)")
    elif isinstance(result.place, External):
        parts.append("buffer(output)")
    return " ".join(parts) or "_"


def _view(view: ViewOf) -> str:
    return f"view({print_ref(view.base)}, {view.offset_bytes} B)"


def _location(location: SourceLocation) -> str:
    module = f" {lexical.quote(location.module)}" if location.module else ""
    return f"loc({lexical.quote(location.file)}:{location.line}{module})"
