"""What the extension says about the processor, and how FORGE_ISA caps it."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from forge_ugc import native

LADDER = ("amx", "avx512_bf16", "avx512_vnni", "avx512", "avx2", "none")
# What Linux calls the parts of each rung; absent if it does not save its state.
FLAGS = {
    "avx2": {"avx2", "fma", "f16c", "bmi2"},
    "avx512": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "avx512_vnni": {"avx512_vnni"},
    "avx512_bf16": {"avx512_bf16"},
    "amx": {"amx_tile", "amx_bf16", "amx_int8"},
}


def run(code: str, isa: str | None) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "FORGE_ISA"}
    if isa is not None:
        env["FORGE_ISA"] = isa
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )


def test_cpu_isa_is_the_end_of_the_ladder():
    found = native.cpu_isa()
    assert found == LADDER[len(LADDER) - len(found) :]


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not Path("/proc/cpuinfo").exists(), reason="x86 Linux only"
)
def test_cpu_isa_agrees_with_the_operating_system():
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = set(next(line for line in lines if line.startswith("flags")).split())
    expected = ["none"]
    for rung in reversed(LADDER[:-1]):
        if not FLAGS[rung] <= flags:
            break
        expected.insert(0, rung)
    assert list(native.cpu_isa()) == expected


def test_every_kernel_has_a_portable_variant_last():
    table = native.kernel_table()
    assert "rms_norm" in table
    for variants in table.values():
        assert variants[-1] == "none"
        assert sorted(variants, key=LADDER.index) == list(variants)


@pytest.mark.parametrize("cap", LADDER)
def test_forge_isa_caps_but_never_raises_the_choice(cap):
    code = "from forge_ugc import native; print(native.isa_cap())"
    found = native.cpu_isa()
    got = run(code, cap)
    assert got.returncode == 0, got.stderr
    assert got.stdout.strip() == (cap if cap in found else found[0])


@pytest.mark.parametrize("cap", [None, ""])
def test_without_forge_isa_the_best_is_chosen(cap):
    got = run("from forge_ugc import native; print(native.isa_cap())", cap)
    assert got.stdout.strip() == native.cpu_isa()[0]


def test_unknown_forge_isa_is_an_option_error():
    got = run("from forge_ugc import native; native.isa_cap()", "sse9")
    assert got.returncode == 1
    assert got.stderr.endswith(
        "forge_ugc.errors.OptionError: FORGE_ISA is 'sse9', expected one of none, avx2, avx512, "
        "avx512_vnni, avx512_bf16, amx\n"
        "  fix: unset FORGE_ISA, or set one of these names\n"
    )
