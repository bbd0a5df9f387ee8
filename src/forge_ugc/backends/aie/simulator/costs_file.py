"""Figures of the cycle model in a text file: lines of `name = number`, `#` begins a comment."""

from __future__ import annotations

from pathlib import Path

from forge_ugc.errors import OptionError


def read_costs(path: Path) -> dict[str, float]:
    """Figures by name.

    Raises:
        OptionError: a line has another form.
    """
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        name, equals, value = (part.strip() for part in text.partition("="))
        try:
            found[name] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise OptionError(
                "a line of a file of costs is `name = number`", where=f"{path}:{number}",
                why=f"it is {line.strip()!r}",
            )  # fmt: skip
    return found
