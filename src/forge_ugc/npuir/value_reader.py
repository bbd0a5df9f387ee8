"""The words and values of NPUIR text: names, numbers, types, operands, attributes."""

from __future__ import annotations

import math

from forge_ugc.npuir import lexical
from forge_ugc.npuir.instruction import Attribute, Const, Ref, Reg, State, Symbol
from forge_ugc.npuir.line_reader import LineReader
from forge_ugc.npuir.types import DType, TensorType

Atom = Ref | bool | int | float | None


class ValueReader(LineReader):
    """Converts the tokens at hand; tokens that repeat are converted once.

    Every method steps over what it returns, and raises `ParseError` if something else comes next;
    `expected` says in the error what should come.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._types: dict[str, TensorType] = {}
        self._atoms: dict[str, Atom] = {**lexical.LITERALS}
        self._values: dict[str, Attribute] = {**lexical.LITERALS}

    # ------------------------------------------------------------------ words

    def atom(self) -> Atom:
        token = self.tokens[self.at]
        if token in self._atoms:
            self.at += 1
            return self._atoms[token]
        expected = "an operand: %register, @constant, $state, number, none or list"
        atom = self.ref(expected) if token[:1] in {"%", "@", "$"} else self.number(expected)
        self._atoms[token] = atom
        return atom

    def ref(self, expected: str = "a %register, @constant or $state") -> Ref:
        token = self.tokens[self.at]
        if token.startswith("%"):
            return self.reg(expected)
        if token.startswith("@"):
            return Const(self.sigil_name("@", expected))
        return State(self.sigil_name("$", expected))

    def reg(self, expected: str = "a register such as %0") -> Reg:
        token = self.tokens[self.at]
        if not token.startswith("%") or len(token) == 1:
            self.fail(expected)
        if len(token) > 19:
            self.fail("a register number below 10^18")
        self.at += 1
        return Reg(int(token[1:]))

    def type(self) -> TensorType:
        token = self.tokens[self.at]
        found = self._types.get(token)
        if found is None:
            found = self._types[token] = self._new_type(token)
        self.at += 1
        return found

    def _new_type(self, token: str) -> TensorType:
        head, bracket, rest = token.partition("[")
        shape_text, _, strides_text = rest.partition("]")
        if not bracket or "]" not in rest:
            self.fail("a type such as f32[2,3]")
        if head not in DType._value2member_map_:
            self.fail(f"an element type ({', '.join(d.value for d in DType)})")
        shape = self._sizes(shape_text)
        strides = self._sizes(strides_text[1:-1]) if strides_text else None
        if strides is not None and len(strides) != len(shape):
            self.fail(f"{len(shape)} strides for {len(shape)} dimensions")
        return TensorType.of(DType(head), shape, strides)

    def _sizes(self, text: str) -> tuple[int, ...]:
        if not text.strip():
            return ()
        parts = [part.strip() for part in text.split(",")]
        if len(parts) > lexical.MAX_RANK:
            self.fail(f"at most {lexical.MAX_RANK} dimensions")
        if not all(part.isdigit() and len(part) <= 18 for part in parts):
            self.fail("sizes and strides of 0 or more, below 10^18")
        return tuple(map(int, parts))

    def value(self, depth: int) -> Attribute:
        if not self.accept("["):
            return self._simple_value()
        if depth == lexical.MAX_NESTING:
            self.at -= 1
            self.fail(f"lists nested at most {lexical.MAX_NESTING} deep")
        items: list[Attribute] = []
        if self.accept("]"):
            return ()
        while True:
            items.append(self.value(depth + 1))
            if self.accept("]"):
                return tuple(items)
            self.expect(",", "',' or ']'")

    def _simple_value(self) -> Attribute:
        token = self.tokens[self.at]
        if token in self._values:
            self.at += 1
            return self._values[token]
        value: Attribute
        if token.startswith('"'):
            value = self.string("a string")
        elif token.startswith("!"):
            value = Symbol(self.sigil_name("!", "a symbol"))
        elif lexical.WORD.fullmatch(token):
            value = Symbol(token)
            self.at += 1
        else:
            value = self.number("a value: number, string, word or list")
        self._values[token] = value
        return value

    # ------------------------------------------------------------------ literals

    def word(self, expected: str) -> str:
        token = self.tokens[self.at]
        if token.startswith('"'):
            return self.string(expected)
        if not lexical.WORD.fullmatch(token):
            self.fail(expected)
        self.at += 1
        return token

    def string(self, expected: str) -> str:
        token = self.tokens[self.at]
        if not token.startswith('"'):
            self.fail(expected)
        return self._unquote(token)

    def _unquote(self, token: str) -> str:
        try:
            text = lexical.unquote(token)
        except ValueError as error:
            self.refuse(str(error))
        self.at += 1
        return text

    def sigil_name(self, sigil: str, expected: str) -> str:
        token = self.tokens[self.at]
        if not token.startswith(sigil) or len(token) == 1:
            self.fail(expected)
        if token[1] == '"':
            return self._unquote(token[1:])
        self.at += 1
        return token[1:]

    def _number_text(self, expected: str) -> str:
        token = self.tokens[self.at]
        if not (token.isascii() and token.lstrip("-")[:1].isdigit()) and token != "-inf":
            self.fail(expected)
        if len(token) > lexical.MAX_NUMBER_CHARS:
            self.fail(f"a number of at most {lexical.MAX_NUMBER_CHARS} characters")
        return token

    def number(self, expected: str) -> int | float:
        token = self._number_text(expected)
        value: int | float
        if token.lstrip("-").isdigit():
            value = int(token)
        else:
            value = float(token)
            if math.isinf(value) and token != "-inf":
                self.fail("a number within the range of f64")
        self.at += 1
        return value

    def integer(self) -> int:
        token = self._number_text("a whole number")
        if not token.lstrip("-").isdigit():
            self.fail("a whole number")
        value = int(token)
        if abs(value) > lexical.INT64_MAX:
            self.fail("a whole number of at most 63 bits")
        self.at += 1
        return value

    def word_in_parentheses(self, expected: str) -> str:
        self.expect("(")
        found = self.word(expected)
        self.expect(")")
        return found

    def bytes_in_parentheses(self) -> int:
        self.expect("(")
        found = self.integer()
        self.expect("B")
        self.expect(")")
        return found
