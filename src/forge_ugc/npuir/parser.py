"""Parses NPUIR text into a program; the grammar is in docs/npuir.md."""

from __future__ import annotations

from types import MappingProxyType

from forge_ugc.errors import ParseError
from forge_ugc.npuir import lexical
from forge_ugc.npuir.instruction import (
    Attribute,
    Const,
    Device,
    External,
    Instruction,
    Operand,
    Ref,
    Reg,
    Result,
    Slot,
    SourceLocation,
    ViewOf,
)
from forge_ugc.npuir.program import ConstDecl, InputDecl, Program, StateDecl, Store
from forge_ugc.npuir.types import TensorType
from forge_ugc.npuir.value_reader import Atom, ValueReader

_STAGES = {"input": 0, "const": 0, "state": 0, "store": 2, "output": 3}
_STAGE_NAMES = ("declaration", "instruction", "store", "output line")


def parse_program(text: str) -> Program:
    """The program of an NPUIR text: the inverse of `print_program`. Linear in the text's length.

    Checks form only; `verify` checks meaning.

    Raises:
        ParseError: the text breaks the grammar or a limit; says line, column and what is expected.
    """
    if len(text) > lexical.MAX_TEXT_CHARS:
        raise ParseError(
            "NPUIR text is too long",
            why=f"it has {len(text)} characters, the limit is {lexical.MAX_TEXT_CHARS}",
        )
    return _Parser(text).program()


class _Parser(ValueReader):
    """Recursive descent, one line at a time."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._inputs: list[InputDecl] = []
        self._constants: list[ConstDecl] = []
        self._states: list[StateDecl] = []
        self._instructions: list[Instruction] = []
        self._stores: list[Store] = []
        self._outputs: list[Ref] = []

    def program(self) -> Program:
        if not self.next_line():
            self.fail("'npuir.program'")
        self.expect("npuir.program")
        name = self.sigil_name("@", "a program name such as @model")
        self.expect("target")
        target = self.word_in_parentheses("a target such as cpu")
        arena = self.bytes_in_parentheses() if self.accept("arena") else None
        self.expect("{")
        self.end_line()
        self._items()
        self.end_line()
        if self.next_line():
            self.fail("the end of the text after '}'")
        return Program(
            name=name,
            target=target,
            inputs=tuple(self._inputs),
            constants=tuple(self._constants),
            states=tuple(self._states),
            instructions=tuple(self._instructions),
            stores=tuple(self._stores),
            outputs=tuple(self._outputs),
            arena_bytes=arena,
        )

    def _items(self) -> None:
        parsers = {
            "input": self._input,
            "const": self._const,
            "state": self._state,
            "store": self._store,
            "output": self._output,
        }
        stage = 0
        while self.next_line():
            first = self.tokens[0]
            if first == "}":
                self.at = 1
                return
            own = _STAGES.get(first, 1)
            if own < stage or own == stage == 3:
                self.fail(f"no {_STAGE_NAMES[own]} after the {_STAGE_NAMES[stage]}")
            stage = own
            if own == 1:
                self._instructions.append(self._instruction())
            else:
                self.at = 1
                parsers[first]()
            self.end_line()
        self.fail("'}' that closes the program")

    # ------------------------------------------------------------------ declarations and ends

    def _input(self) -> None:
        reg = self.reg()
        name = self.string("the input's name as a string")
        self.expect(":")
        self._inputs.append(InputDecl(reg, name, self.type()))

    def _const(self) -> None:
        name = self.sigil_name("@", "a constant such as @weight")
        self.expect(":")
        kind = self.type()
        view = self._view() if self.accept("view") else None
        self._constants.append(ConstDecl(name, kind, view))

    def _state(self) -> None:
        name = self.sigil_name("$", "a state such as $cache")
        self.expect(":")
        self._states.append(StateDecl(name, self.type()))

    def _store(self) -> None:
        target = self.ref()
        if isinstance(target, Const):
            self.at -= 1
            self.fail("a state or an input to store to")
        self.expect(",")
        self._stores.append(Store(target, self.ref()))

    def _output(self) -> None:
        self._outputs.append(self.ref())
        while self.accept(","):
            self._outputs.append(self.ref())

    # ------------------------------------------------------------------ instructions

    def _instruction(self) -> Instruction:
        regs = self._left_side()
        opcode = self.word("an instruction or '}'")
        self.expect("(")
        operands = self._operands()
        attributes = self._attributes() if self.accept("{") else {}
        types = self._result_types(len(regs))
        device = None
        if self.accept("device"):
            device = Device(self.word_in_parentheses("a device such as cpu"))
        results = self._results(regs, types)
        location = self._location() if self.accept("loc") else None
        return Instruction(
            results, opcode, operands, MappingProxyType(attributes), device, location
        )

    def _left_side(self) -> list[Reg]:
        if not self.tokens[0].startswith("%"):
            return []
        regs = [self.reg()]
        while self.accept(","):
            regs.append(self.reg())
        self.expect("=")
        return regs

    def _operands(self) -> tuple[Operand, ...]:
        found: list[Operand] = []
        if self.accept(")"):
            return ()
        while True:
            if self.accept("["):
                found.append(self._operand_list())
            else:
                found.append(self.atom())
            if self.accept(")"):
                return tuple(found)
            self.expect(",", "',' or ')'")

    def _operand_list(self) -> tuple[Atom, ...]:
        found: list[Atom] = []
        if self.accept("]"):
            return ()
        while True:
            found.append(self.atom())
            if self.accept("]"):
                return tuple(found)
            self.expect(",", "',' or ']'")

    def _result_types(self, count: int) -> list[TensorType]:
        types: list[TensorType] = []
        while len(types) < count:
            self.expect(",") if types else self.expect(":")
            types.append(self.type())
        return types

    def _results(self, regs: list[Reg], types: list[TensorType]) -> tuple[Result, ...]:
        if not regs or self.tokens[self.at] not in {"view", "buffer", "_"}:
            return tuple(map(Result, regs, types))
        results: list[Result] = []
        for reg, kind in zip(regs, types, strict=True):
            if results:
                self.expect(",", "',' and the memory of the next result")
            results.append(self._result_memory(reg, kind))
        return tuple(results)

    def _result_memory(self, reg: Reg, kind: TensorType) -> Result:
        if self.accept("_"):
            return Result(reg, kind)
        view = self._view() if self.accept("view") else None
        if self.accept("buffer"):
            return Result(reg, kind, view, self._place())
        if view is None:
            self.fail("'view', 'buffer' or '_'")
        return Result(reg, kind, view)

    def _place(self) -> Slot | External:
        self.expect("(")
        if self.accept("output"):
            self.expect(")")
            return External()
        buffer = self.integer()
        self.expect("@")
        offset = self.integer()
        self.expect(",")
        size = self.integer()
        self.expect("B")
        self.expect(")")
        return Slot(buffer, offset, size)

    def _view(self) -> ViewOf:
        self.expect("(")
        base = self.ref()
        self.expect(",")
        offset = self.integer()
        self.expect("B")
        self.expect(")")
        return ViewOf(base, offset)

    def _location(self) -> SourceLocation:
        self.expect("(")
        file = self.string("a file name as a string")
        self.expect(":")
        line = self.integer()
        module = "" if self.tokens[self.at] == ")" else self.string("a module path as a string")
        self.expect(")")
        return SourceLocation(file, line, module)

    # ------------------------------------------------------------------ attributes

    def _attributes(self) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        if self.accept("}"):
            return found
        while True:
            name = self.word("an attribute's name")
            if name in found:
                self.at -= 1
                self.fail("each attribute once")
            self.expect("=")
            found[name] = self.value(0)
            if self.accept("}"):
                return found
            self.expect(",", "',' or '}'")
