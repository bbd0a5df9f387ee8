"""Cycles of loops: the busiest slot if pipelined, all in turn if not."""

import pytest

from forge_ugc.backends.aie.cycles.costs import Costs
from forge_ugc.backends.aie.cycles.estimate import loop_cycles, work_cycles
from forge_ugc.backends.aie.design import Loop, Work

COSTS = Costs(loop_prologue=20, pipeline_efficiency=0.5, chain_latency=10, call_cycles=44)


@pytest.mark.parametrize(
    ("slots", "trip", "bound"),
    [
        ({"vector": 4, "loads": 2}, 4, "vector"),
        ({"vector": 1, "loads": 6}, 3, "load"),
        ({"stores": 5, "loads": 6}, 5, "store"),
        ({"vector": 3, "stream_in": 4, "stream_out": 8}, 8, "stream"),
    ],
)
def test_a_pipelined_loop_takes_its_busiest_slot(slots, trip, bound):
    found = loop_cycles(Loop(name="loop", trips=10, entries=3, **slots), COSTS)
    assert (found.body, found.prologue, found.bound) == (10 * trip / 0.5, 60, bound)


def test_scalar_code_hides_behind_nothing():
    found = loop_cycles(Loop(name="loop", trips=10, vector=2, scalar=7), COSTS)
    assert (found.body, found.bound) == (10 * (2 / 0.5 + 7), "scalar")


def test_slots_of_other_loops_take_turns():
    loop = Loop(name="loop", trips=10, vector=4, loads=2, stores=1, stream_out=8, pipelined=False)
    assert loop_cycles(loop, COSTS).total == 10 * (4 + 1 + 1 + 8 + 10)


def test_a_kernel_is_its_call_and_its_loops():
    loops = (Loop(name="a", trips=1, vector=1), Loop(name="b", trips=9, vector=1))
    found = work_cycles(Work(loops=loops), COSTS)
    assert found.total == 44 + 22 + 38
    assert found.heaviest is not None
    assert found.heaviest.name == "b"
    assert work_cycles(Work(loops=()), COSTS).heaviest is None
