"""Time stamps of aiesimulator."""

import pytest

from forge_ugc.backends.aie.vitis.stamps import Stamps, read_stamps
from forge_ugc.errors import SimulationError


def file_of(folder, text):
    path = folder / "y.txt"
    path.write_text(text)
    return path


def test_units(tmp_path):
    path = file_of(tmp_path, "T 900 ps\n1 2\nT 1.5 us\nTLAST\n3 4\nT 2 ms\n5 6\n")
    assert read_stamps(path).ns == pytest.approx((0.9, 1500.0, 2e6))


def test_intervals_are_between_first_lines():
    stamps = Stamps((100.0, 104.0, 300.0, 304.0, 520.0, 524.0))
    assert stamps.interval_ns(lines=2) == 210.0
    assert stamps.first_ns == 100.0


def test_one_iteration():
    with pytest.raises(SimulationError) as caught:
        Stamps((1.0, 2.0)).interval_ns(lines=2)
    assert str(caught.value) == (
        "one iteration has no interval\n  why: 2 lines of 2 each\n  fix: simulate two jets or more"
    )


def test_no_stamps(tmp_path):
    with pytest.raises(SimulationError) as caught:
        read_stamps(file_of(tmp_path, "1 2\n"))
    assert str(caught.value) == (
        f"y.txt has no time stamps\n  at: {tmp_path}\n"
        "  fix: run aiesimulator without --output-time-stamp=no"
    )


def test_stamps_that_run_backwards(tmp_path):
    with pytest.raises(SimulationError) as caught:
        read_stamps(file_of(tmp_path, "T 2 ns\n1\nT 1 ns\n2\n"))
    assert str(caught.value) == f"the time stamps of y.txt run backwards\n  at: {tmp_path}"
