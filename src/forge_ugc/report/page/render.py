"""Makes the page: the template with styles, scripts and data inside."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from forge_ugc.npuir.program import Program
from forge_ugc.report.environment import environment
from forge_ugc.report.formatting import bytes_text, percent_text, seconds_text
from forge_ugc.report.page.document import page_document

if TYPE_CHECKING:
    from jinja2 import Template

    from forge_ugc.report.document import Json
    from forge_ugc.result import CompilationResult

SCRIPTS = (
    "basics", "tooltip", "timeline", "diff", "graphs", "arena", "schedule", "roofline",
    "floorplan", "main",
)  # fmt: skip
"""The scripts in their order; each is a file of `static/`."""
_STATIC = "forge_ugc.report.page.static"
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def write_page(
    path: Path,
    result: CompilationResult,
    program: Program,
    *,
    source: str = "",
    target_note: str = "",
    profile: Mapping[str, Json] | None = None,
) -> None:
    """Write the page to a file. See `render_page`."""
    page = render_page(result, program, source=source, target_note=target_note, profile=profile)
    path.write_text(page, encoding="utf-8")


def render_page(
    result: CompilationResult,
    program: Program,
    *,
    source: str = "",
    target_note: str = "",
    profile: Mapping[str, Json] | None = None,
) -> str:
    """One HTML document that loads nothing from anywhere.

    Args:
        result: figures of the compilation.
        program: scheduled and allocated, as the compilation made it.
        source: one line that says where the model came from.
        target_note: what the target says of itself (`Availability.reason`).
        profile: the JSON document of a profile (`Profile.to_json`) of this program.
    """
    script = _script()
    return _template().render(
        result=result,
        source=source,
        target_note=target_note,
        profile=profile,
        environment=environment(),
        made=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        style=_static("page.css"),
        script=script,
        policy=_policy(script),
        data=json_for_html(page_document(result, program, profile)),
        host_count=sum(result.host_instructions.values()),
    )


def json_for_html(document: Json) -> str:
    """JSON that may stand inside a script element: it holds no `<`, `>` or `&`.

    Numbers that JSON lacks become null.
    """
    text = json.dumps(_finite(document), ensure_ascii=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _finite(value: Json) -> Json:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


def _policy(script: str) -> str:
    """A content security policy: this script alone, and nothing from anywhere else."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


@lru_cache(maxsize=1)
def _script() -> str:
    parts = (_static(f"{name}.js") for name in SCRIPTS)
    return "\n(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();\n"


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    jinja = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    jinja.filters |= {
        "size": bytes_text, "seconds": seconds_text, "percent": percent_text,
    }  # fmt: skip
    return jinja.from_string(_static("page.html.j2"))


def _static(name: str) -> str:
    return resources.files(_STATIC).joinpath(name).read_text(encoding="utf-8")
