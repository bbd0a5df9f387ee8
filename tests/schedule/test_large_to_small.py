"""Greedy placement by size."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.schedule import first_to_last
from forge_ugc.schedule.blocks import Block
from forge_ugc.schedule.large_to_small import TimeIndex, pairs_alive_together, place

BLOCKS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(1, 5)), max_size=30
).map(
    lambda rows: [
        Block(size_bytes=64 * size, start=start, end=start + length)
        for start, length, size in sorted(rows)
    ]
)


def _together(a: Block, b: Block) -> bool:
    return a.start <= b.end and b.start <= a.end


@given(BLOCKS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_both_placements_keep_live_blocks_apart(found: list[Block]) -> None:
    for offsets in (place(found), first_to_last.place(found)):
        for i, a in enumerate(found):
            for j, b in enumerate(found[:i]):
                apart = (
                    offsets[i] + a.size_bytes <= offsets[j]
                    or offsets[j] + b.size_bytes <= offsets[i]
                )
                assert apart or not _together(a, b)


@given(BLOCKS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_the_time_index_finds_exactly_the_blocks_beside(found: list[Block]) -> None:
    index = TimeIndex()
    for number, block in enumerate(found):
        near = sorted(index.beside(block, found))
        assert near == [i for i in range(number) if _together(found[i], block)]
        index.add(number, block)


@given(BLOCKS)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_pairs_alive_together(found: list[Block]) -> None:
    pairs = sum(_together(a, b) for i, a in enumerate(found) for b in found[:i])
    assert pairs_alive_together(found) == pairs


def test_beats_the_linear_scan_where_a_long_small_block_splits_the_arena() -> None:
    found = [
        Block(size_bytes=128, start=0, end=1),
        Block(size_bytes=64, start=1, end=5),
        Block(size_bytes=192, start=2, end=3),
    ]
    assert first_to_last.place(found) == [0, 128, 192]
    assert place(found) == [0, 192, 0]
