"""The public surface: few names, and a cheap import."""

import subprocess
import sys

import pytest

import forge_ugc


def test_the_public_names_are_these():
    assert forge_ugc.__all__ == [
        "CompilationResult",
        "CompiledModel",
        "ForgeError",
        "Options",
        "compile",
        "devices",
        "explain",
        "load",
    ]
    for name in forge_ugc.__all__:
        assert getattr(forge_ugc, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'forge_ugc' has no attribute 'compyle'"):
        _ = forge_ugc.compyle


HEAVY = ("torch", "numpy", "sympy", "transformers", "jinja2", "matplotlib", "safetensors")
CONSOLE = ("rich", "typer")
TRACING = ("torch._dynamo", "torch._inductor", "torch.fx.experimental.symbolic_shapes")
"""Sympy alone takes a third of a second."""


def loaded(code, names):
    """Those of the modules that a fresh process has after running the code."""
    code = f"import sys\n{code}\nprint(); print(*[n for n in {names!r} if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[-1].split()


def test_importing_the_package_loads_nothing_heavy():
    code = "import forge_ugc; forge_ugc.Options, forge_ugc.ForgeError"
    assert loaded(code, HEAVY + CONSOLE) == []
    assert loaded("import json", ("json",)) == ["json"]


def test_the_public_functions_load_torch_and_nothing_for_tracing():
    names = (*HEAVY, *CONSOLE, *TRACING)
    code = "import forge_ugc; forge_ugc.devices(); forge_ugc.explain; forge_ugc.load"
    assert loaded(f"{code}; forge_ugc.compile", names) == loaded("import torch", names)


@pytest.mark.parametrize("command", [[], ["compile"], ["run"], ["devices"], ["bench-kernels"]])
def test_help_loads_nothing_heavy(command):
    arguments = ["forge-ugc", *command, "--help"]
    code = f"""
sys.argv = {arguments!r}
from forge_ugc.cli import main
try:
    main()
except SystemExit as end:
    assert end.code == 0
"""
    assert loaded(code, HEAVY) == []


def test_devices_say_what_they_are():
    rows = {d.name: d for d in forge_ugc.devices()}
    assert set(rows) == {"aie", "cpu", "null"}
    assert rows["cpu"].available
    assert rows["null"].devices == ("accelerator", "cpu")
    assert "no hardware" in rows["null"].reason
