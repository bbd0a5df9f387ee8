"""Bar charts as SVG elements, drawn by matplotlib."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from forge_ugc.errors import OptionError

# Okabe and Ito's colours, which colour-blind readers can tell apart.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")
_WIDTH_INCHES = 8.0
_BAR_INCHES = 0.32


def can_plot() -> bool:
    """True if matplotlib is installed. Imports nothing."""
    return importlib.util.find_spec("matplotlib") is not None


def stacked_bars(
    title: str, unit: str, labels: Sequence[str], parts: Mapping[str, Sequence[float]]
) -> str:
    """One horizontal bar a label, made of the parts one after another; totals stand at the ends.

    Args:
        unit: of all values, as the axis names it.
        parts: a value for each label, by name of the part.

    Raises:
        OptionError: matplotlib is not installed.
    """
    with _chart(title, unit, labels, rows=len(labels)) as (figure, axes):
        places, left = range(len(labels)), [0.0] * len(labels)
        for (name, values), colour in zip(parts.items(), _cycle(len(parts)), strict=True):
            axes.barh(places, values, left=left, color=colour, label=name)
            left = [a + b for a, b in zip(left, values, strict=True)]
        for place, total in zip(places, left, strict=True):
            axes.text(total, place, f" {total:,.3g}", va="center", fontsize=8)
        axes.margins(x=0.12)
        return _svg(figure, legend=len(parts) > 1)


def grouped_bars(
    title: str, unit: str, labels: Sequence[str], series: Mapping[str, Sequence[float | None]]
) -> str:
    """A group of horizontal bars a label, one for each series, on a logarithmic axis.

    Args:
        unit: of all values, as the axis names it.
        series: a value above zero for each label, by name; None leaves the bar out.

    Raises:
        OptionError: matplotlib is not installed.
    """
    rows = len(labels) * (len(series) + 1) / 2
    with _chart(title, unit, labels, rows=rows) as (figure, axes):
        height = 0.8 / max(len(series), 1)
        axes.set_xscale("log")
        for index, (name, values) in enumerate(series.items()):
            known = [(place, value) for place, value in enumerate(values) if value is not None]
            offset = (index - (len(series) - 1) / 2) * height
            axes.barh(
                [place + offset for place, _ in known], [value for _, value in known], height,
                color=_cycle(len(series))[index], label=name,
            )  # fmt: skip
            for place, value in known:
                axes.text(value, place + offset, f" {value:,.3g}", va="center", fontsize=6)
        axes.margins(x=0.12)
        return _svg(figure, legend=True)


@contextmanager
def _chart(
    title: str, unit: str, labels: Sequence[str], *, rows: float
) -> Iterator[tuple[Any, Any]]:  # Any: matplotlib's figure and axes
    if not can_plot():
        raise OptionError(
            "a chart needs the package 'matplotlib'", fix="pip install 'forge-ugc[plots]'"
        )
    import matplotlib
    from matplotlib.figure import Figure

    # Text stays text, and the same figures give the same bytes.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):
        figure = Figure(figsize=(_WIDTH_INCHES, 1.2 + _BAR_INCHES * rows))
        axes = figure.subplots()
        axes.set_yticks(range(len(labels)), labels, fontsize=9)
        axes.invert_yaxis()
        axes.set_xlabel(unit)
        axes.set_title(title, loc="left", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        yield figure, axes


def _cycle(count: int) -> list[str]:
    return [_COLOURS[index % len(_COLOURS)] for index in range(count)]


def _svg(figure: Any, *, legend: bool) -> str:  # noqa: ANN401 - matplotlib's
    """The svg element alone, without the XML prologue and metadata, which hold addresses."""
    if legend:
        figure.axes[0].legend(fontsize=8, frameon=False)
    stream = io.StringIO()
    figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = stream.getvalue()
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
