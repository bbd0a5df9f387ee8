import pytest

from forge_ugc import native
from forge_ugc.profiling import machine as machines


@pytest.fixture(autouse=True)
def small_machine(monkeypatch):
    """A quick look at the machine, and no more copies than needed."""
    known = machines.probe(1, seconds=0.1)
    monkeypatch.setattr(machines, "probe", lambda threads: known)
    monkeypatch.setattr("forge_ugc.profiling.bench.runner.cold_bytes", lambda: 1)


def test_kernels_on_all_instruction_sets(forge):
    document = forge("bench-kernels", "--filter", "rms_norm", "--seconds", "0", "--json")
    assert document["version"] == 1
    assert document["machine"]["gflops"]["f32"]["none"] > 0
    rows = document["kernels"]
    assert {row["kernel"] for row in rows} == {"rms_norm"}
    assert {row["isa"] for row in rows} == set(native.cpu_isa()) & set(
        native.kernel_table()["rms_norm"]
    )
    for row in rows:
        assert row["gflops"] == pytest.approx(row["flops"] / row["time_ns"])
        assert row["roofline_share"] == pytest.approx(row["least_ns"] / row["time_ns"])


def test_one_instruction_set_as_a_table(forge):
    text = forge("bench-kernels", "--filter", "softmax", "--isa", "none", "--seconds", "0").stdout
    assert "softmax" in text
    assert "128x768" in text
    assert "avx" not in text.partition("Kernels")[2]
    assert "reading memory" in text


def test_what_there_is_no_kernel_for(forge):
    result = forge("bench-kernels", "--filter", "fourier", exit_code=1)
    assert "no kernel has 'fourier' in its name" in result.stderr
    assert "linear_f32" in result.stderr
    result = forge("bench-kernels", "--isa", "sse9", exit_code=1)
    assert "this processor has no 'sse9'" in result.stderr
