import xml.etree.ElementTree as ElementTree

import pytest

from forge_ugc.errors import OptionError
from forge_ugc.evaluation import plots

PARTS = {"export": [1.0, 2.0], "compile": [0.5, 4.0]}


def test_a_chart_is_one_svg_element_with_readable_text():
    text = plots.stacked_bars("Compile time", "seconds", ["forge", "other <1>"], PARTS)
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    words = {"".join(e.itertext()).strip() for e in root.iter() if e.tag.endswith("text")}
    assert {"Compile time", "seconds", "forge", "other <1>", "export", "compile"} <= words
    assert {"1.5", "6"} <= words  # the totals
    assert text == plots.stacked_bars("Compile time", "seconds", ["forge", "other <1>"], PARTS)


def test_groups_leave_out_what_was_not_measured():
    series = {"forge": [1.0, 20.0], "peer": [None, 300.0]}
    root = ElementTree.fromstring(plots.grouped_bars("t", "s", ["gpt2", "vit"], series))
    words = {"".join(e.itertext()).strip() for e in root.iter() if e.tag.endswith("text")}
    assert {"gpt2", "vit", "forge", "peer", "1", "20", "300"} <= words


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(plots, "can_plot", lambda: False)
    with pytest.raises(OptionError, match=r"pip install 'forge-ugc\[plots\]'"):
        plots.stacked_bars("t", "s", ["a"], {"x": [1.0]})
