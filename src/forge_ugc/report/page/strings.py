"""Texts by number, so that one that repeats in every layer is in the page once."""

from __future__ import annotations

from forge_ugc.npuir.instruction import SourceLocation


class Strings:
    """Numbers texts from 0 in the order of their first use."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The text's number."""
        return self._number.setdefault(text, len(self._number))

    def place(self, location: SourceLocation | None) -> tuple[int, int]:
        """Numbers of the module path and of `file:line`; of empty texts if unknown."""
        if location is None:
            return self.add(""), self.add("")
        source = f"{location.file}:{location.line}" if location.file else ""
        return self.add(location.module), self.add(source)

    @property
    def table(self) -> list[str]:
        """The texts by number."""
        return list(self._number)
