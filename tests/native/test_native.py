"""The wrapper's answer where the extension is absent."""

import pytest

from forge_ugc import native
from forge_ugc.errors import BackendUnavailableError

CALLS = {
    "cpu_isa": lambda: native.cpu_isa(),
    "isa_cap": lambda: native.isa_cap(),
    "kernel_table": lambda: native.kernel_table(),
    "linear_packed_bytes": lambda: native.linear_packed_bytes(4, 1, 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_missing_extension_says_what_to_do(name, monkeypatch):
    monkeypatch.setattr(native, "_missing", ImportError("no module named _native"))
    with pytest.raises(BackendUnavailableError) as caught:
        CALLS[name]()
    assert str(caught.value) == (
        "the compiled extension forge_ugc._native cannot be loaded\n"
        "  why: no module named _native\n"
        "  fix: run `make venv` in a clone, or reinstall forge-ugc with a C++20 compiler"
    )
