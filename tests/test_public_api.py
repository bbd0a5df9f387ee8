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


def test_importing_the_package_loads_neither_torch_nor_transformers():
    code = "import sys, forge_ugc; print({'torch', 'transformers'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


def test_devices_say_what_they_are():
    rows = {d.name: d for d in forge_ugc.devices()}
    assert set(rows) == {"cpu", "null"}
    assert rows["cpu"].available
    assert rows["null"].devices == ("accelerator", "cpu")
    assert "no hardware" in rows["null"].reason
