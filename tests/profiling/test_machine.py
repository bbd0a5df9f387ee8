"""Figures of the machine are plausible: present for what it has, positive, in proportion."""

import dataclasses
import math

import pytest

from forge_ugc import _native, native
from forge_ugc.errors import OptionError
from forge_ugc.profiling import machine
from forge_ugc.profiling.machine import MachineProbe, cold_bytes

NEEDED = {"bf16": {"avx512_bf16", "amx"}, "i8": {"avx2", "avx512_vnni", "amx"}}


@pytest.fixture(scope="module")
def probe():
    return machine.probe(2, seconds=0.2)


def test_figures_are_positive_and_finite(probe):
    rates = [rate for by_isa in probe.gflops.values() for rate in by_isa.values()]
    figures = [*rates, probe.read_gbs, probe.read_one_gbs, probe.barrier_ns, probe.call_ns]
    assert all(0 < figure < math.inf for figure in figures)
    assert probe.cold_bytes == cold_bytes() >= 1 << 27


def test_there_is_a_figure_for_each_set_that_the_processor_has(probe):
    has = set(native.cpu_isa())
    assert set(probe.gflops["f32"]) == has & {"none", "avx2", "avx512"}
    for precision, sets in NEEDED.items():
        assert set(probe.gflops.get(precision, {})) == has & sets


def test_the_peak_of_a_set_is_that_of_its_best_loop():
    probe = MachineProbe(
        threads=1, gflops={"f32": {"avx512": 160.0, "none": 20.0}, "bf16": {"avx512_bf16": 80.0}},
        read_gbs=10.0, read_one_gbs=10.0, barrier_ns=1.0, call_ns=1.0, cold_bytes=0,
    )  # fmt: skip
    assert probe.peak("f32", "none") == 20.0
    if "avx512_bf16" in native.cpu_isa():
        # Turned into float32 the numbers are multiplied faster.
        assert probe.peak("bf16") == 160.0
        assert probe.peak("i8", "avx512_bf16") == 160.0
    assert probe.least_ns(200, 10, "f32", "none") == 10.0
    assert probe.least_ns(200, 1000, "f32", "none") == 100.0


def test_a_second_call_measures_nothing(probe):
    assert machine.probe(2, seconds=0.2) is probe


def test_it_cannot_be_changed(probe):
    with pytest.raises(dataclasses.FrozenInstanceError):
        probe.threads = 3
    with pytest.raises(TypeError):
        probe.gflops["f32"]["none"] = 1.0


@pytest.mark.parametrize(
    ("threads", "seconds", "message"),
    [(0, 1.0, "threads is 0, expected at least 1"), (1, 0.0, "seconds is 0.0, expected more than")],
)
def test_nothing_to_measure_is_refused(threads, seconds, message):
    with pytest.raises(OptionError, match=message):
        machine.probe(threads, seconds=seconds)


def test_loops_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="no loop measures f64 on none"):
        _native.probe_compute("f64", "none", 1, 0.01)
    with pytest.raises(ValueError, match="threads is 0"):
        _native.probe_barrier(0, 0.01)
