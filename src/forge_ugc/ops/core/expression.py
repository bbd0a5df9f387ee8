"""Elementwise expressions: their text form, and what they compute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import torch

from forge_ugc.errors import VerificationError
from forge_ugc.ops.core.functions import FUNCTIONS

LETTERS = "abcdefgh"
MAX_CALLS = 64
"""Operands have one letter each; longer chains stay several operators."""
MAX_LIVE = 14
"""Operands, constants and intermediate values that a kernel keeps at once."""


@dataclass(frozen=True, slots=True)
class Operand:
    """The tensor at this position in the list of operands."""

    position: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python number; it does not promote the types of tensors beyond its category.

    The text tells 1, 1.0 and true apart, which are equal in Python, as are 0.0 and -0.0.
    """

    text: str

    @classmethod
    def of(cls, value: float) -> Constant:
        """The constant of that Python number."""
        return cls(str(value).lower() if isinstance(value, bool) else repr(value))

    @property
    def value(self) -> bool | int | float:
        """The Python number."""
        if self.text in {"true", "false"}:
            return self.text == "true"
        return int(self.text) if re.fullmatch(r"-?\d+", self.text) else float(self.text)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `FUNCTIONS` on its arguments."""

    name: str
    arguments: tuple[Expression, ...]


Expression = Operand | Constant | Call


def evaluate(expression: Expression, operands: Sequence[torch.Tensor]) -> torch.Tensor:
    """The value, each step by PyTorch; on meta tensors only its type."""
    return evaluate_steps(expression, operands)[expression]


def evaluate_steps(
    expression: Expression, operands: Sequence[torch.Tensor]
) -> dict[Expression, torch.Tensor]:
    """The value of every sub-expression but the constants, arguments before their calls."""
    values: dict[Expression, Any] = {}
    for step in steps(expression):
        if isinstance(step, Operand):
            values[step] = operands[step.position]
        elif isinstance(step, Call):
            given = [a.value if isinstance(a, Constant) else values[a] for a in step.arguments]
            values[step] = FUNCTIONS[step.name].call(*given)
    return values


def steps(expression: Expression) -> Iterator[Expression]:
    """Every different sub-expression once, arguments before their calls."""
    seen: set[Expression] = set()

    def visit(at: Expression) -> Iterator[Expression]:
        if at in seen:
            return
        for argument in at.arguments if isinstance(at, Call) else ():
            yield from visit(argument)
        seen.add(at)
        yield at

    return visit(expression)


def calls(expression: Expression) -> int:
    """How many different calls there are."""
    return sum(isinstance(step, Call) for step in steps(expression))


def live(expression: Expression) -> int:
    """The most values that are kept at once: all operands and constants, and what awaits its use.

    A result may take the place of an argument that is not read again, unless it is a constant.
    """
    order = list(steps(expression))
    last = {a: at for at, s in enumerate(order) if isinstance(s, Call) for a in s.arguments}
    held: set[Expression] = {s for s in order if not isinstance(s, Call)}
    most = len(held)
    for at, step in enumerate(order):
        if isinstance(step, Call):
            held -= {a for a in step.arguments if last[a] == at and not isinstance(a, Constant)}
            held.add(step)
            most = max(most, len(held))
    return most


def text(expression: Expression) -> str:
    """The expression as `parse` reads it."""
    if isinstance(expression, Operand):
        return LETTERS[expression.position]
    if isinstance(expression, Constant):
        return expression.text
    return f"{expression.name}({', '.join(map(text, expression.arguments))})"


_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?(?:inf|nan|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?![\w.]))"
    r"|(?P<word>[a-z][a-z0-9_]*)|(?P<mark>[(),]))"
)


@lru_cache(maxsize=1024)
def parse(code: str, operands: int) -> Expression:
    """Read an expression over so many operands, each of which it must use.

    Grammar: expression = letter | number | `true` | `false` | name `(` expression {`,` expression}
    `)`. Letters name operands in order, from `a`.

    Raises:
        VerificationError: it is no such expression; shows where.
    """
    if operands > len(LETTERS):
        raise VerificationError(f"{operands} operands, at most {len(LETTERS)} have a letter")
    return _Parser(code, operands).whole()


class _Parser:
    def __init__(self, code: str, operands: int) -> None:
        self.code, self.operands, self.at = code, operands, 0
        self.calls = 0

    def whole(self) -> Expression:
        found = self.expression()
        if self.code[self.at :].strip():
            self.fail("expected the end")
        used = {step.position for step in steps(found) if isinstance(step, Operand)}
        for position in range(self.operands):
            if position not in used:
                self.fail(f"operand {LETTERS[position]} is never read")
        if not isinstance(found, Call):
            self.fail("expected a function")
        if live(found) > MAX_LIVE:
            self.fail(f"{live(found)} values are kept at once, at most {MAX_LIVE} can be")
        return found

    def token(self) -> tuple[str, str]:
        match = _TOKEN.match(self.code, self.at)
        if match is None or match.lastgroup is None:
            self.fail("expected a letter, a number or a function")
        self.at = match.end()
        return match.lastgroup, match.group(match.lastgroup)

    def expression(self) -> Expression:
        kind, word = self.token()
        if kind == "number" or word in {"true", "false"}:
            return Constant.of(Constant(word).value)
        if kind == "word" and word in FUNCTIONS:
            return self.call(word)
        if len(word) == 1 and word in LETTERS[: self.operands]:
            return Operand(LETTERS.index(word))
        self.at -= len(word)
        self.fail(f"{word!r} is neither a function nor one of {self.operands} operands")

    def call(self, name: str) -> Call:
        self.calls += 1
        if self.calls > MAX_CALLS:
            self.fail(f"more than {MAX_CALLS} calls")
        function, given = FUNCTIONS[name], []
        mark = self.token()[1]
        if mark != "(":
            self.fail(f"expected ( after {name}")
        while mark != ")":
            given.append(self.expression())
            mark = self.token()[1]
            if mark not in {",", ")"}:
                self.fail("expected , or )")
        wanted = function.operands + function.constants
        if len(given) != wanted:
            self.fail(f"{name} takes {wanted} arguments, got {len(given)}")
        if any(not isinstance(g, Constant) for g in given[function.operands :]):
            self.fail(f"{name} takes numbers after its first {function.operands}")
        if all(isinstance(g, Constant) for g in given):
            self.fail(f"{name} reads no operand")
        return Call(name, tuple(given))

    def fail(self, why: str) -> NoReturn:
        raise VerificationError(
            f"the expression {self.code!r} cannot be read", why=f"{why} at character {self.at}"
        )
