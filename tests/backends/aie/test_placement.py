"""Placement: every kernel has a tile of its own, and cascades run the way the hardware has them."""

import itertools
from dataclasses import replace

import pytest
from aie_designs import chain, kernel, net, port
from hypothesis import given
from hypothesis import strategies as st

from forge_ugc.backends.aie.design import Link
from forge_ugc.backends.aie.device import VCK190, VEK280
from forge_ugc.backends.aie.memory import assign, neighbours
from forge_ugc.backends.aie.placement import cascades, floorplan, hops, place
from forge_ugc.errors import ResourceError


def cascade(prefix, length):
    """Kernels that pass accumulators on, and the nets between them."""
    links = [port("sums", Link.CASCADE, 48)]
    kernels = [
        kernel(f"{prefix}{i}", inputs=links if i else (), outputs=links if i < length - 1 else ())
        for i in range(length)
    ]
    nets = [net(a.name, b.name, link=Link.CASCADE, size_bytes=48)
            for a, b in itertools.pairwise(kernels)]  # fmt: skip
    return kernels, nets


def design_of(lengths, device=VCK190):
    parts = [cascade(f"c{i}_", length) for i, length in enumerate(lengths)]
    kernels = [k for part in parts for k in part[0]]
    return chain(*kernels, nets=[n for part in parts for n in part[1]], device=device)


def next_in_cascade(device, place):
    """The tile that takes the cascade of a tile (AM009: rows alternate, the first runs east)."""
    column, row = place
    west = device.cascade_snakes and row % 2 == 1
    return (column - 1, row) if west else (column + 1, row)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.sampled_from([VCK190, VEK280]))
def test_places_are_distinct_and_cascades_follow_the_rows(lengths, device):
    design = place(design_of(lengths, device))
    places = design.places
    assert len(set(places.values())) == len(design.kernels)
    assert all(0 <= c < device.columns and 0 <= r < device.rows for c, r in places.values())
    for one in design.nets:
        source, sink = one.source.node, one.sinks[0].node
        assert places[sink] == next_in_cascade(device, places[source])


def test_groups_are_whole_cascades_in_order():
    assert cascades(design_of([2, 1, 3])) == [
        ["c0_0", "c0_1"], ["c1_0"], ["c2_0", "c2_1", "c2_2"],
    ]  # fmt: skip


def test_a_cascade_longer_than_a_row():
    with pytest.raises(ResourceError) as caught:
        place(design_of([51]))
    assert str(caught.value) == (
        "no row of vck190 has 51 free tiles side by side for c0_0\n"
        "  at: layer c0_0\n"
        "  why: 0 of 400 tiles are taken\n"
        "  fix: fewer shards, or mapping='published'"
    )


def test_neighbours_alternate_by_row():
    assert set(neighbours(VCK190, (5, 2))) == {(5, 3), (5, 1), (4, 2)}
    assert set(neighbours(VCK190, (5, 3))) == {(5, 4), (5, 2), (6, 3)}
    assert set(neighbours(VEK280, (5, 3))) == {(5, 4), (5, 2), (4, 3)}
    assert set(neighbours(VCK190, (0, 0))) == {(0, 1)}


def test_hops_are_steps_and_one():
    design = replace(design_of([3]), places={"c0_0": (0, 0), "c0_1": (2, 3), "c0_2": (0, 7)})
    assert hops(design, "c0_0", "c0_1") == 6
    assert hops(design, "x", "c0_2") == 9  # up through eight rows, from the interface below


def test_a_buffer_that_does_not_fit_goes_to_a_neighbour():
    full = kernel("full", inputs=(port(link=Link.BUFFER, size_bytes=1280),), data_bytes=32_000)
    blocks = {(b.kernel, b.purpose): b for b in assign(place(chain(full, kernel("empty"))))}
    assert blocks["full", "data"].place == (0, 0)
    assert blocks["full", "buffer x"].size_bytes == 2560
    assert blocks["full", "buffer x"].place == (0, 1)


def test_a_fifo_that_fits_nowhere():
    nets = [net("x", "a", fifo_words=(8188,)), net("a", "y")]
    design = chain(kernel("a", layer="scores", data_bytes=1000), nets=nets)
    crowd = [kernel(f"k{i}", data_bytes=32_000, inputs=(), outputs=()) for i in range(8)]
    design = place(replace(design, kernels=(*design.kernels, *crowd)))
    with pytest.raises(ResourceError) as caught:
        assign(design)
    assert str(caught.value) == (
        "no tile near a has 32752 bytes for its fifo x\n"
        "  at: layer scores\n"
        "  why: free in its own and the neighbouring tiles: 31768, 768 bytes\n"
        "  fix: more shards, fewer rows or features, or a mapping with fewer kernels side by side"
    )


def test_the_floorplan_shows_memory_lent_by_empty_tiles():
    full = kernel("full", inputs=(port(link=Link.BUFFER, size_bytes=1280),), data_bytes=32_000)
    plan = floorplan(place(chain(full)))
    assert [(t.column, t.row, t.kernel, t.used_bytes) for t in plan.tiles] == [
        (0, 0, "full", 32_000), (0, 1, "", 2560),
    ]  # fmt: skip
    assert (plan.columns, plan.rows, plan.device) == (50, 8, "vck190")
