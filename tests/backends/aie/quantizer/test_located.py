"""Where elements of registers lie."""

import torch

from forge_ugc.backends.aie.quantizer.graph import Input
from forge_ugc.backends.aie.quantizer.located import Located, by_heads, every_row_once

NODE = Input(name="x", rows=3, columns=4)
INDEX = torch.arange(24).view(2, 3, 4)


def test_whole_and_in_order():
    value = Located(NODE, INDEX)
    assert value.is_whole(2)
    assert value.is_in_order(2)
    moved = Located(NODE, INDEX.transpose(1, 2))
    assert moved.is_whole(2)
    assert not moved.is_in_order(2)
    assert not Located(NODE, INDEX[:1]).is_whole(2)


def test_rows_and_columns():
    rows, columns = Located(NODE, INDEX.transpose(0, 1)[..., [2, 0]]).rows_and_columns()
    assert columns.tolist() == [2, 0]
    assert rows.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert every_row_once(rows, 2, NODE)
    assert not every_row_once(rows[:2], 2, NODE)
    assert Located(NODE, INDEX.transpose(1, 2)).rows_and_columns() is None
    assert Located(NODE, torch.tensor(3)).rows_and_columns() is None


def test_heads():
    heads = INDEX.view(2, 3, 2, 2).transpose(1, 2)
    assert by_heads(Located(NODE, heads), 2).tolist() == [[0, 1], [2, 3]]
    assert by_heads(Located(NODE, heads.flip(0)), 2) is None
    assert by_heads(Located(NODE, INDEX), 2) is None
