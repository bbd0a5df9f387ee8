"""Published rows: names are unique, and the reference's product count is right."""

from forge_ugc.backends.aie.cycles.rows import ROWS


def test_rows_are_told_apart_by_name():
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert all(row.cycles > 0 and row.per >= 1 for row in ROWS)
