"""`forge-ugc devices` and `forge-ugc doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from forge_ugc.cli import models
from forge_ugc.cli.console import emit_json, out

if TYPE_CHECKING:
    from forge_ugc.report.document import Json


def devices(json: models.AsJson = False) -> None:
    """List the targets and whether they can be used on this machine."""
    import forge_ugc
    from forge_ugc.report.formatting import plain_table

    found = forge_ugc.devices()
    if json:
        rows: list[Json] = [
            {"name": d.name, "available": d.available, "reason": d.reason,
             "devices": list(d.devices)}
            for d in found
        ]  # fmt: skip
        emit_json(rows)
        return
    table = plain_table("Targets", ("target", "available", "devices", "reason"), ())
    for d in found:
        state = "[green]yes[/]" if d.available else "[red]no[/]"
        table.add_row(d.name, state, ", ".join(d.devices), escape(d.reason))
    out.print(table)


def doctor(json: models.AsJson = False) -> None:
    """Check this installation: versions, native engine, memory, optional packages."""
    from forge_ugc.cli.diagnosis import diagnose
    from forge_ugc.report.formatting import plain_table

    found = diagnose()
    if json:
        emit_json(found.document())
        return
    for title, rows in found.sections.items():
        table = plain_table(title, ("name", "value"), ())
        for name, value in rows.items():
            table.add_row(name, escape(str(value)))
        out.print(table)
    for warning in found.warnings:
        out.print(f"[yellow]warning:[/] {escape(warning)}")
    if not found.warnings:
        out.print("[green]no problems found[/]")
