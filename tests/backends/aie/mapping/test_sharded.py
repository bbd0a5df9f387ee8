"""The sharded mapping: its kernels and nets, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from int8_programs import Int8Program, jet_tagger

from forge_ugc.backends.aie.checks import check_design
from forge_ugc.backends.aie.design import Link
from forge_ugc.backends.aie.device import VCK190, VEK280
from forge_ugc.backends.aie.kernels.sharded import bias_lanes, weight_tiles
from forge_ugc.backends.aie.mapping.sharded import map_sharded
from forge_ugc.backends.aie.placement import floorplan, place
from forge_ugc.errors import OptionError, UnsupportedOperatorError


def mapped(shards=8, device=VCK190, **model):
    return map_sharded(*jet_tagger(**model), device, shards=shards)


@pytest.mark.parametrize(("shards", "tiles"), [(8, 104), (10, 126), (20, 236)])
@pytest.mark.parametrize("softmax", ["none", "polynomial"])
def test_the_jet_tagger_fits_the_array(shards, tiles, softmax):
    design = mapped(shards, softmax=softmax)
    check_design(design)
    assert len(design.kernels) == tiles
    assert len([t for t in floorplan(place(design)).tiles if t.kernel]) == tiles


def test_all_rows_are_somewhere_once():
    """Shards of unlike sizes: 40 groups of rows over 12 shards."""
    design = mapped(12)
    check_design(design)
    rows = [
        k for k in design.kernels if k.template == "sharded/rows" and k.name.startswith("rows1")
    ]
    own = [next(p for p in k.inputs if p.name == "residual").bytes_per_jet // 64 for k in rows]
    assert sum(own) == 160
    assert set(own) == {12, 16}


def test_heads_hand_their_sums_on_by_cascade():
    design = mapped(8)
    chains = [net for net in design.nets if net.link is Link.CASCADE]
    first = [(n.source.node, n.sinks[0].node) for n in chains if n.source.node.endswith("s0")]
    assert first[:4] == [
        ("attention0_h0_s0", "attention0_h1_s0"), ("attention0_h1_s0", "attention0_h2_s0"),
        ("attention0_h2_s0", "attention0_h3_s0"), ("attention0_h3_s0", "rows1_s0"),
    ]  # fmt: skip


def test_weights_are_tiles_of_eight_by_eight():
    weight = np.arange(16 * 24, dtype=np.int16).reshape(16, 24).astype(np.int8)
    tiles = weight_tiles(weight).reshape(2, 3, 8, 8)
    assert np.array_equal(tiles[1, 2], weight[8:16, 16:24])


def test_a_bias_stands_once_for_each_row_of_a_tile():
    assert bias_lanes(np.array([5, -7], np.int32)).tolist() == [5, 5, 5, 5, -7, -7, -7, -7]


def refused(error, run):
    with pytest.raises(error) as caught:
        run()
    return str(caught.value)


@pytest.mark.parametrize("shards", [0, 3, 42, 2])
def test_numbers_of_shards(shards):
    assert refused(OptionError, lambda: mapped(shards)) == (
        f"{shards} shards of 160 rows\n"
        "  at: jet_tagger\n"
        "  why: there are 2 chains, and a shard has 4 to 64 rows\n"
        "  fix: an even number from 4 to 40"
    )


def test_the_second_generation_has_too_few_streams():
    assert refused(UnsupportedOperatorError, lambda: mapped(device=VEK280)) == (
        "the sharded mapping needs tiles with two streams in, vek280 has 1\n"
        "  at: jet_tagger\n"
        "  fix: mapping='published', or device='vck190'"
    )


def test_a_table_of_exponentials():
    program, tensors = jet_tagger(softmax="polynomial")
    tables = tuple(
        replace(i, attributes={**i.attributes, "softmax": "table"})
        if i.opcode == "int8_attention" else i
        for i in program.instructions
    )  # fmt: skip
    program = replace(program, instructions=tables)
    assert refused(
        UnsupportedOperatorError, lambda: map_sharded(program, tensors, VCK190, shards=8)
    ) == (
        "the sharded mapping cannot take block0.attention: a softmax by table is scalar code on a "
        "tile\n"
        "  at: jet_tagger\n"
        "  fix: softmax='polynomial', or mapping='published'"
    )


@pytest.mark.parametrize(
    ("rows", "width", "heads", "what", "fix"),
    [
        (152, 64, 4, "the input: it has 152 rows, not a multiple of 16", "pad to 160"),
        (160, 48, 4, "block0.attention: it has 12 features a head, not a multiple of 8",
         "pad to 16"),
    ],
)  # fmt: skip
def test_sizes_that_fit_no_tile(rows, width, heads, what, fix):
    assert refused(
        UnsupportedOperatorError, lambda: mapped(rows=rows, width=width, heads=heads)
    ) == (
        f"the sharded mapping cannot take {what}\n"
        "  at: jet_tagger\n"
        f"  fix: {fix}, or mapping='published'"
    )


def test_rows_from_too_far_back():
    build = Int8Program(160, 8)
    x = build.dense(build.input, 64, "dense0")
    y = build.attention(x, 4, "a")
    z = build.attention(y, 4, "b")
    program, tensors = build.program(build.add(z, x, "skip"))
    assert refused(
        UnsupportedOperatorError, lambda: map_sharded(program, tensors, VCK190, shards=8)
    ) == (
        "the aie target cannot map int8_add\n"
        "  at: layer skip, instruction 11\n"
        "  why: it reads rows that are further back than the last attention's\n"
        "  fix: encoders of linear layers, attention, sums, ReLU, softmax and pooling are mapped"
    )
