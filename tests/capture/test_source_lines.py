"""Errors of capture name file, line and source of the user's code."""

import contextlib
import linecache

import pytest
import torch
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.errors import CaptureError


class Selects(nn.Module):
    def forward(self, x):
        return x[x > 0]


class Casts(nn.Module):
    def forward(self, x):
        with torch.autocast("cpu"):
            return x @ x


class Raises(nn.Module):
    def forward(self, x):
        return x.numpy() + 1


class RaisesInPython(nn.Module):
    def forward(self, x):
        with contextlib.closing(3):
            return x


@pytest.mark.parametrize("module", [Selects, Casts, Raises, RaisesInPython])
def test_where_is_a_line_of_this_file(module):
    with pytest.raises(CaptureError) as caught:
        capture(module(), (torch.ones(3, 3),))
    head, _, rest = caught.value.where.partition(f"{__file__}:")
    number, _, source = rest.partition(": ")
    assert head in ("", f"{module.__name__} (")
    line = linecache.getline(__file__, int(number)).strip()
    assert source == (line + ")" if head else line)
