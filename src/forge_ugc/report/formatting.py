"""Numbers with units as text, and the look of tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table


def bytes_text(count: int) -> str:
    """`1,536 B`, `24.0 KiB`, `3.2 MiB`, `15.0 GiB`."""
    if count < 10_000:
        return f"{count:,} B"
    size, unit = count / 1024, "KiB"
    for larger in ("MiB", "GiB"):
        if size >= 1000:
            size, unit = size / 1024, larger
    return f"{size:,.1f} {unit}"


def seconds_text(seconds: float) -> str:
    """Milliseconds below ten seconds, seconds above."""
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds * 1e3:,.1f} ms"


def percent_text(share: float) -> str:
    """A share of 0 to 1 in percent with one digit."""
    return f"{share * 100:.1f}%"


def plain_table(title: str, left: Sequence[str], right: Sequence[str]) -> Table:
    """An empty table with these columns of text, and of numbers to their right."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="")
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table
