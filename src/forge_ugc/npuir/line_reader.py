"""Lines and tokens of NPUIR text, with errors that show the place."""

from __future__ import annotations

import itertools
from typing import NoReturn

from forge_ugc.errors import ParseError
from forge_ugc.npuir import lexical

_WINDOW_CHARS = 100


class LineReader:
    """Walks over the tokens of one line after another.

    Attributes:
        tokens: of the current line, then "" as the end.
        at: index of the next token.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._line_number = 0  # of the current line, counted from 1; 0 before the first
        self.tokens: list[str] = [""]
        self.at = 0

    def next_line(self) -> bool:
        """Go to the next line that holds more than a comment; False at the end of the text."""
        for number in range(self._line_number, len(self._lines)):
            tokens = lexical.TOKENS.findall(self._lines[number].rstrip(" \t\r"))
            if tokens and tokens[-1].startswith("#"):
                tokens.pop()
            if tokens:
                self._line_number, self.at = number + 1, 0
                tokens.append("")
                self.tokens = tokens
                return True
        self._line_number, self.tokens, self.at = len(self._lines), [""], 0
        return False

    def accept(self, token: str) -> bool:
        """Step over this token if it comes next."""
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str, expected: str = "") -> None:
        """Step over this token.

        Raises:
            ParseError: another token comes next.
        """
        if self.tokens[self.at] != token:
            self.fail(expected or f"'{token}'")
        self.at += 1

    def end_line(self) -> None:
        """Require that the line ends here.

        Raises:
            ParseError: more follows.
        """
        if self.tokens[self.at]:
            self.fail("the end of the line")

    def fail(self, expected: str) -> NoReturn:
        """Raise the error that something else than the next token is expected.

        Raises:
            ParseError: always.
        """
        token = self.tokens[self.at]
        shown = token if len(token) <= 40 else token[:37] + "..."
        found = lexical.quote(shown)[1:-1] if token else ""
        self.refuse(f"expected {expected}, found " + (f"'{found}'" if token else self._end()))

    def _end(self) -> str:
        return "the end of the line" if len(self.tokens) > 1 else "the end of the text"

    def refuse(self, what: str) -> NoReturn:
        """Raise an error at the next token.

        Raises:
            ParseError: always.
        """
        line = self._lines[self._line_number - 1].rstrip(" \t\r")
        matches = itertools.islice(lexical.TOKENS.finditer(line), self.at, self.at + 1)
        is_end = not self.tokens[self.at]
        column = len(line) if is_end else next((m.start(1) for m in matches), len(line))
        first = max(0, column - _WINDOW_CHARS // 2)
        window = line[first : first + _WINDOW_CHARS]
        shown = "".join(c if c.isprintable() else " " for c in window)
        caret = " " * (column - first) + "^"
        raise ParseError(
            what, where=f"line {self._line_number}, column {column + 1}\n    {shown}\n    {caret}"
        )
