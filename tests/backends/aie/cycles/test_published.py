"""The published design has the published number of tiles, and is a design that fits."""

import pytest

from forge_ugc.backends.aie.checks import check_design
from forge_ugc.backends.aie.cycles.published import jet_tagger


@pytest.mark.parametrize(("heads", "tiles"), [(4, 57), (1, 23)])
def test_tiles(heads, tiles):
    design = jet_tagger(heads)
    assert len(design.kernels) == tiles
    check_design(design)
