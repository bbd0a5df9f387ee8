"""Figures of measurements as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_TEMPLATE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
nav a { margin-right: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; }
th, td { padding: 0.2rem 0.7rem; border-bottom: 1px solid #8884; text-align: right; }
th:first-child, td:first-child { text-align: left; }
td.text { text-align: left; white-space: normal; }
figure { background: #fff; margin: 0.5rem 0 1.5rem; max-width: 56rem; }
figure svg { width: 100%; height: auto; display: block; }
.fact { color: #777; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
{% for name, value in facts.items() %}<div class="fact">{{ name }}: {{ value }}</div>
{% endfor %}
{% if sections | length > 1 %}<nav>
{% for section in sections %}<a href="#s{{ loop.index }}">{{ section.title }}</a>
{% endfor %}</nav>{% endif %}
{% for section in sections %}<section id="s{{ loop.index }}">
<h2>{{ section.title }}</h2>
{% for paragraph in section.text %}<p>{{ paragraph }}</p>
{% endfor %}
{% for figure in section.figures %}<figure>{{ figure | safe }}</figure>
{% endfor %}
{% for table in section.tables %}<div class="scroll"><table>
{% if table.title %}<caption>{{ table.title }}</caption>{% endif %}
<thead><tr>{% for head in table.heads %}<th>{{ head }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}<tr>{% for cell in row -%}
<td{% if cell | length > 40 %} class="text"{% endif %}>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% endfor %}</section>
{% endfor %}
</body>
</html>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table whose cells are text; the first column names the row."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with paragraphs, figures (SVG elements as text) and tables below it."""

    title: str
    text: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    tables: tuple[TextTable, ...] = field(default=())


def render_page(title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> str:
    """The page. All text is escaped; figures are put in as they are."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=False)
    return environment.from_string(_TEMPLATE).render(title=title, facts=facts, sections=sections)
