"""Checks of designs: the messages, whole."""

from dataclasses import replace

import pytest
from aie_designs import chain, kernel, net, plio, port

from forge_ugc.backends.aie.checks import check_design
from forge_ugc.backends.aie.design import Link, Work
from forge_ugc.backends.aie.device import VCK190, VEK280
from forge_ugc.errors import InternalError, ResourceError


def refused(design, error=ResourceError):
    with pytest.raises(error) as caught:
        check_design(design)
    return str(caught.value)


def test_a_chain_of_kernels_is_right():
    check_design(chain(kernel("a"), kernel("b")))


@pytest.mark.parametrize(
    ("design", "what"),
    [
        (chain(kernel("a"), kernel("a")), "2 nodes are called a"),
        (chain(kernel("a b")), "'a b' is not a C++ identifier"),
        (chain(kernel("a"), nets=[net("x", "a")]), "0 nets take a.y"),
        (chain(kernel("a"), nets=[net("a", "y")]), "0 nets drive a.x"),
        (
            chain(kernel("a"), nets=[net("x", "a"), net("x", "a"), net("a", "y")]),
            "2 nets drive a.x",
        ),
        (
            chain(kernel("a"), nets=[net("x", "a"), net("a", "y"), net("x", "b")]),
            "a net ends at b, which does not exist",
        ),
        (chain(kernel("a"), nets=[net("x", "a.1"), net("a", "y")]), "a has no port 1"),
        (
            chain(kernel("a"), nets=[net("x", "a", link=Link.CASCADE), net("a", "y")]),
            "a.x is a stream, its net a cascade",
        ),
        (
            chain(kernel("a"), nets=[net("x", "a", size_bytes=4), net("a", "y")]),
            "a.x passes 1280 bytes, its net 4",
        ),
        (
            chain(kernel("a"), nets=[net("x", "a", fifo_words=(41,)), net("a", "y")]),
            "the FIFO after x has 41 words, not 4 n",
        ),
        (
            chain(kernel("a"), nets=[net("x", "a", fifo_words=(8, 8)), net("a", "y")]),
            "the net from x has 2 FIFO depths for 1 sinks",
        ),
    ],
)
def test_a_bad_form_is_the_mapping_s_fault(design, what):
    assert refused(design, InternalError) == (
        f"the mapping 'test' made a bad design: {what}\n"
        "  at: model\n"
        "  fix: report this with the model"
    )


def test_a_stream_may_fill_a_buffer():
    check_design(chain(kernel("a", inputs=(port(link=Link.BUFFER),))))


def test_data_memory():
    big = kernel("dense_1", layer="encoder.ff1", data_bytes=32_000, stack_bytes=1024)
    assert refused(chain(big)) == (
        "dense_1 needs 33024 bytes of data memory, a tile of vck190 has 32768\n"
        "  at: layer encoder.ff1\n"
        "  why: 32000 bytes of parameters and arrays, 1024 of stack\n"
        "  fix: split the layer: fewer features or rows a tile, or more shards"
    )
    check_design(chain(big, device=VEK280))


def test_program_memory():
    big = kernel("a", work=Work(loops=(), program_bytes=16_385))
    assert refused(chain(big)) == (
        "a needs about 16385 bytes of program memory, a tile of vck190 has 16384\n"
        "  at: layer a\n"
        "  fix: fuse fewer layers into one kernel"
    )


def test_stream_ports_differ_by_generation():
    two = kernel("a", inputs=(port("p"), port("q")))
    nets = [net("x", "a.0", "a.1"), net("a", "y")]
    check_design(chain(two, nets=nets))
    assert refused(chain(two, nets=nets, device=VEK280)) == (
        "a has 2 stream inputs, a tile of vek280 has 1\n"
        "  at: layer a\n"
        "  fix: another mapping, or fewer inputs to this layer"
    )


def test_tiles():
    assert refused(chain(*(kernel(f"k{i}") for i in range(401)))) == (
        "the design needs 401 tiles, vck190 has 400\n"
        "  at: model\n"
        "  why: mapping 'test' puts one kernel on each tile\n"
        "  fix: fewer shards, or mapping='published'"
    )


def test_fifo_depth():
    nets = [net("x", "a"), net("a", "b", fifo_words=(8192,)), net("b", "y")]
    assert refused(chain(kernel("a", layer="scores"), kernel("b"), nets=nets)) == (
        "the FIFO after a needs 8192 words, a stream FIFO holds fewer than 8192\n"
        "  at: layer scores\n"
        "  why: data of a whole iteration wait there for another input of the same kernel\n"
        "  fix: fewer rows, more heads, or another mapping"
    )


def test_plio_channels():
    few = replace(VCK190, interface_columns=1, plio_inputs_per_column=2)
    check_design(chain(kernel("a"), device=few))
    design = chain(kernel("a"), device=few)
    assert refused(replace(design, plios=(*design.plios, plio("z", is_input=True)))) == (
        "the design needs 4 channels from the programmable logic, vck190 has 2\n"
        "  at: model\n"
        "  fix: fewer or narrower PLIOs"
    )
