"""The words of NPUIR text: tokens, quoting of names, escapes of strings."""

from __future__ import annotations

import re

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[.:][A-Za-z0-9_]+)*")
NAME = re.compile(r"[A-Za-z0-9_]+(?:[.:][A-Za-z0-9_]+)*")
# The closing quote is optional so that an open string is one token and never scanned twice.
_OPEN_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
_CLOSED_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)

TOKENS = re.compile(
    rf"""[ \t\r]*(
      [a-z][a-z0-9]*\[[-0-9, ]*\](?:\{{[-0-9, ]*\}})?   # tensor type
    | %[0-9]+                                           # register
    | [@$!](?:{NAME.pattern}|{_OPEN_STRING})            # constant, state, symbol
    | {WORD.pattern}
    | -?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?
    | -inf
    | {_OPEN_STRING}
    | \#.*                                              # comment
    | .                                                 # punctuation, or what the parser refuses
    )""",
    re.VERBOSE,
)

LITERALS = {
    "true": True, "false": False, "none": None, "inf": float("inf"), "nan": float("nan"),
}  # fmt: skip
ITEMS = frozenset({"input", "const", "state", "store", "output"})
MAX_TEXT_CHARS = 32 * 1024 * 1024
MAX_NESTING = 32
MAX_NUMBER_CHARS = 640  # what CPython always converts, whatever sys.set_int_max_str_digits says
MAX_RANK = 64
INT64_MAX = 2**63 - 1

_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_UNESCAPES = {text[1]: char for char, text in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\(?:u\{([0-9a-f]{1,6})\}|(.))", re.DOTALL)


def quote(text: str) -> str:
    r"""A string literal; what is not printable becomes `\n`, `\t`, `\r` or `\u{hex}`."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return '"' + "".join(map(_escape, text)) + '"'


def unquote(token: str) -> str:
    """The text of a string literal.

    Raises:
        ValueError: the literal is not closed, or an escape is unknown.
    """
    if not _CLOSED_STRING.fullmatch(token):
        raise ValueError("the string is not closed on its line")
    body = token[1:-1]
    return _ESCAPED.sub(_unescape, body) if "\\" in body else body


def name(text: str) -> str:
    """What follows `@` and `$`: the text itself, or quoted where it is no plain name."""
    return text if NAME.fullmatch(text) else quote(text)


def word(text: str) -> str:
    """An opcode, device or attribute name: the text itself, or quoted."""
    return text if WORD.fullmatch(text) else quote(text)


def symbol(text: str) -> str:
    """A symbol among attributes: a bare word, or `!` and a quoted one."""
    return text if WORD.fullmatch(text) and text not in LITERALS else "!" + quote(text)


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"


def _unescape(match: re.Match[str]) -> str:
    digits, char = match.groups()
    if digits is not None:
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise ValueError(f"\\u{{{digits}}} is no character")
        return chr(code)
    if char not in _UNESCAPES:
        raise ValueError(f"the escape \\{char} is unknown")
    return _UNESCAPES[char]
