"""The integer exponential, against the definition in Python's own integers."""

import torch
from exact_integers import exponential
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.ops.core.integer_exp import (
    ONE,
    T_LIMIT,
    exponentials,
    halved,
    polynomial,
    scaled_distance,
)

D = torch.arange(256)


@settings(max_examples=40)
@given(st.integers(1, 2**15 - 1), st.integers(0, 31), st.sampled_from([0, 7]))
def test_every_distance(multiplier, shift, extra):
    got = exponentials(D, "polynomial", multiplier, shift, None, extra).tolist()
    assert got == [exponential(d, multiplier, shift, extra) for d in range(256)]


def test_every_t_stays_in_the_lanes_of_a_vector():
    t = torch.arange(T_LIMIT + 1)
    p, z = polynomial(t)
    f = t - 3970 * z
    assert (int(z.min()), int(z.max())) == (0, 15)
    assert (int(f.min()), int(f.max())) == (-1985, 5985)
    assert (int(p.min()), int(p.max())) == (7775, 22931)
    for extra, first in ((0, ONE), (7, 127)):
        e = halved(p, z, extra)
        assert (int(e[0]), int(e[-1])) == (first, 0)
        assert (e.diff() <= 0).all()


def test_distances_saturate():
    assert scaled_distance(D, 2**15 - 1, 0).tolist() == [0, 32767, 65534] + [65535] * 253


def test_a_table_is_read():
    table = torch.arange(255, -1, -1, dtype=torch.int16)
    assert exponentials(D, "table", 1, 0, table).tolist() == list(range(255, -1, -1))
