"""The free list and the linear scan against a byte map."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.schedule.blocks import Block
from forge_ugc.schedule.first_to_last import FreeList, place


def test_takes_the_smallest_hole_and_joins_neighbours() -> None:
    free = FreeList()
    starts = [free.take(size) for size in (64, 128, 64, 192, 64)]
    assert starts == [0, 64, 192, 256, 448]
    free.give(64, 128)
    free.give(256, 192)
    assert free.take(128) == 64  # not the larger hole at 256
    free.give(192, 64)  # joins 192..256 with 256..448
    assert free.take(256) == 192
    assert free.end == 512


def test_a_hole_at_the_end_grows_by_what_it_lacks() -> None:
    free = FreeList()
    free.take(64)
    last = free.take(64)
    free.give(last, 64)
    assert free.take(192) == 64
    assert free.end == 256


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 6)), max_size=60))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_free_list_against_a_byte_map(steps: list[tuple[bool, int]]) -> None:
    free, taken = FreeList(), dict[int, int]()
    used = set[int]()
    for take, number in steps:
        if take or not taken:
            holes, size = _holes(used, free.end), number
            fitting = sorted((length, start) for start, length in holes if length >= size)
            start = free.take(size)
            if fitting:
                assert start == fitting[0][1]
            assert not used & set(range(start, start + size))
            taken[start] = size
            used |= set(range(start, start + size))
        else:
            start = sorted(taken)[number % len(taken)]
            size = taken.pop(start)
            free.give(start, size)
            used -= set(range(start, start + size))


def _holes(used: set[int], end: int) -> list[tuple[int, int]]:
    holes, start = [], None
    for byte in range(end + 1):
        if byte < end and byte not in used:
            start = byte if start is None else start
        elif start is not None:
            holes.append((start, byte - start))
            start = None
    return holes


def test_bytes_return_only_after_the_last_reader() -> None:
    first = Block(size_bytes=64, start=0, end=1)
    beside = Block(size_bytes=64, start=1, end=1)
    after = Block(size_bytes=64, start=2, end=2)
    assert place([first, beside, after]) == [0, 64, 0]
