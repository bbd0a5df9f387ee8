"""`forge-ugc aie calibrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from forge_ugc.cli import models
from forge_ugc.cli.console import emit_json, out

if TYPE_CHECKING:
    from forge_ugc.backends.aie.cycles.calibration import Compared
    from forge_ugc.report.document import Json


def calibrate(json: models.AsJson = False) -> None:
    """Compare the cycle model of AI Engines with published measurements."""
    from forge_ugc.backends.aie.cycles.calibration import calibrate as compare
    from forge_ugc.report.formatting import plain_table

    found = compare()
    parts = {"Fitted": found.fitted, "Held out": found.held_out, "Networks": found.networks}
    if json:
        document: dict[str, Json] = {
            "costs": dict(found.costs.figures()),
            "held_out_error": found.held_out_error,
        }
        for name, rows in parts.items():
            document[name.lower().replace(" ", "_")] = [_row(row) for row in rows]
        emit_json(document)
        return
    for name, rows in parts.items():
        table = plain_table(name, ("kernel", "published", "estimated", "error", "cause"), ())
        for row in rows:
            table.add_row(
                escape(row.name), f"{row.published:,.0f}", f"{row.estimated:,.0f}",
                f"{row.error:+.0%}", escape(row.cause),
            )  # fmt: skip
        out.print(table)
    out.print(f"mean error of rows that nothing was fitted on: {found.held_out_error:.0%}")


def _row(row: Compared) -> Json:
    return {
        "name": row.name, "source": row.source, "published": row.published,
        "estimated": row.estimated, "error": row.error, "cause": row.cause,
    }  # fmt: skip
