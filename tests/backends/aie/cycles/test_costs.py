"""The simulator's figures are the model's."""

import re

from aie_programs import HEADERS

from forge_ugc.backends.aie.cycles.costs import Costs

NETWORK = {"call_cycles"}
"""Figures that the simulator's runtime holds."""


def test_the_headers_have_the_same_figures():
    text = (HEADERS / "aiesim" / "costs.h").read_text()
    found = {name: float(value) for name, value in re.findall(r"double (\w+) = ([\d.]+);", text)}
    assert found == {k: v for k, v in Costs().figures().items() if k not in NETWORK}
    for name in found:
        assert f'f("{name}", {name});' in text


def test_the_file_has_a_line_for_each_figure():
    lines = Costs(load=0.75).text().splitlines()
    assert "load = 0.75" in lines
    assert len(lines) == len(Costs().figures())
