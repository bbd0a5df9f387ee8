"""Every kernel has cases, and every case can be measured."""

import pytest
import torch

from forge_ugc import native
from forge_ugc.errors import InternalError
from forge_ugc.profiling.bench.case import Case, cases, cases_of
from forge_ugc.profiling.bench.runner import chosen, measure
from forge_ugc.profiling.machine import MachineProbe

KERNELS = native.kernel_table()
MACHINE = MachineProbe(
    threads=2, gflops={"f32": {"none": 10.0}}, read_gbs=1.0, read_one_gbs=1.0, barrier_ns=1.0,
    call_ns=1.0, cold_bytes=0,
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_caches(monkeypatch):
    """Two copies of what is cold are enough here."""
    monkeypatch.setattr("forge_ugc.profiling.bench.runner.cold_bytes", lambda: 1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_has_cases_with_names_of_their_own(kernel):
    found = cases_of(kernel)
    assert found, f"add a file for {kernel} to forge_ugc/profiling/bench/cases"
    assert len({case.shape for case in found}) == len(found)
    for case in found:
        assert case.bytes_moved > 0
        assert case.precision in {"f32", "bf16", "i8"}


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_smallest_case_runs_on_every_instruction_set(kernel):
    case = min(cases_of(kernel), key=lambda c: (c.flops, c.bytes_moved))
    for isa in set(KERNELS[kernel]) & set(native.cpu_isa()):
        found = measure(kernel, isa, case, MACHINE, seconds=0.0)
        assert found.samples == 3
        assert 0 < found.time_ns <= found.median_ns
        assert found.gflops == case.flops / found.time_ns
        assert found.gbs == case.bytes_moved / found.time_ns
        assert found.roofline_share == found.least_ns / found.time_ns


@pytest.mark.parametrize(
    "kernel",
    ["linear_f32", "linear_i8", "attention_f32", "rms_norm", "elementwise", "copy", "conv1d"],
)
def test_a_case_computes_what_it_says(kernel):
    """The arguments are those of a whole computation: every result is written."""
    case = min(cases_of(kernel), key=lambda c: (c.flops, c.bytes_moved))
    fields = dict(case.fields("none"))
    outs = fields["out"] if isinstance(fields["out"], list) else [fields["out"]]
    for out in outs:
        out.fill_(float("nan"))
    native.run_kernel(kernel, isa="none", **fields)
    assert all(bool(torch.isfinite(out).all()) for out in outs)


def test_what_is_cold_has_copies_beyond_the_caches(monkeypatch):
    from forge_ugc.profiling.bench import runner

    monkeypatch.setattr(runner, "cold_bytes", lambda: 1000)
    w = torch.arange(64, dtype=torch.float32)
    copies = list(runner._copies({"w": [w], "rows": 3}, ("w",)))
    assert len(copies) == 1 + 4
    places = {copy["w"][0].data_ptr() for copy in copies}
    assert len(places) == len(copies)
    assert all(torch.equal(c["w"][0].view(torch.float32), w) for c in copies)
    assert len(list(runner._copies({"w": [w]}, ()))) == 1


def test_the_roofline_of_cold_cases_counts_the_memory():
    fields = cases_of("rms_norm")[0].fields
    for cold, least in (((), 2.0), (("x",), 100.0)):
        case = Case(shape="s", flops=20, bytes_moved=100, precision="f32", fields=fields, cold=cold)
        assert measure("rms_norm", "none", case, MACHINE, seconds=0.0).least_ns == least


def test_kernels_are_chosen_by_name_and_instruction_set():
    found = list(chosen(containing="linear_f32", isa="none"))
    assert {(kernel, isa) for kernel, isa, _ in found} == {("linear_f32", "none")}
    assert {isa for _, isa, _ in chosen()} <= set(native.cpu_isa())
    assert {kernel for kernel, _, _ in chosen()} == set(KERNELS)


def test_a_kernel_has_its_cases_in_one_place():
    with pytest.raises(InternalError, match="two functions make cases for the kernel rms_norm"):
        cases("rms_norm")(lambda: ())
