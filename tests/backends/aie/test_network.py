"""Timing of networks, against figures worked out by hand."""

from dataclasses import replace

import pytest
from aie_designs import chain, kernel, net, plio, port

from forge_ugc.backends.aie.design import Link, Work
from forge_ugc.backends.aie.network import HOP_CYCLES, LOCK_CYCLES, time_network
from forge_ugc.backends.aie.placement import place

WORDS = 320  # of 1280 bytes


def timed(design, **cycles):
    return time_network(place(design), lambda kernel: cycles.get(kernel.name, 0.0))


def test_streams_overlap():
    """Kernels that pass words on at once: the interval is the slowest, the latency the way."""
    flow = Work(loops=(), first_output_fraction=0.0)
    one = kernel("a", inputs=(port(needed=0.1),), work=flow)
    two = kernel("b", inputs=(port(needed=0.5),), work=flow)
    result = timed(chain(one, two), a=1000.0, b=400.0)
    assert (result.interval, result.bottleneck) == (1000.0, "a")
    # In at row 0: two switches; a and b lie in rows 0 and 1; b is three switches from the edge.
    first_a = 2 * HOP_CYCLES + 0.1 * WORDS
    last_a = 2 * HOP_CYCLES + 1000
    first_b = first_a + 2 * HOP_CYCLES + 0.5 * (last_a - first_a)
    assert result.latency == pytest.approx(first_b + 3 * HOP_CYCLES)
    assert result.utilisation(result.kernels[1]) == 0.4


def test_a_buffer_waits_for_its_last_word():
    waits = kernel("a", inputs=(port(link=Link.BUFFER),), work=Work(loops=()))
    result = timed(chain(waits), a=100.0)
    assert result.latency == 2 * HOP_CYCLES + WORDS + LOCK_CYCLES + 100 + 2 * HOP_CYCLES
    assert result.interval == WORDS  # the stream that fills it


def test_what_passes_through_does_not_hold_up_other_outputs():
    """Own rows leave after the own work, whatever else arrives late to be passed on."""
    ports = {
        "inputs": (port("x"), port("chain", needed=0.0, read_at=1.0)),
        "outputs": (port("rows", follows=(0,)), port("chain")),
    }
    late = kernel("late")
    both = kernel("both", **ports)
    nets = [net("x", "late", "both.0"), net("late", "both.1"), net("both.0", "y"),
            net("both.1", "z")]  # fmt: skip
    design = chain(late, both, nets=nets)
    design = replace(design, plios=(*design.plios, plio("z", is_input=False)))
    result = timed(design, late=9000.0, both=10.0)
    assert result.latency < 500
    assert result.latency_to_last > 9000


def test_a_plio_may_be_the_bottleneck():
    design = chain(kernel("a"))
    narrow = replace(design, plios=(replace(design.plios[0], bits=32), design.plios[1]))
    result = timed(narrow)
    assert (result.interval, result.bottleneck) == (1280.0, "x")  # a word in 4 cycles
