"""What all tests share: pinned text files and their renewal, and a choice among many cases."""

from collections import Counter
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--update-text",
        action="store_true",
        help="rewrite the pinned text files under tests/**/text for review",
    )
    parser.addoption(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="of the cases of a parametrised test run the first and every Nth (sanitized builds)",
    )


def pytest_collection_modifyitems(config, items):
    every = config.getoption("--every")
    if every == 1:
        return
    seen, kept, left = Counter(), [], []
    for item in items:
        test = item.nodeid.split("[", 1)[0]
        (kept if seen[test] % every == 0 else left).append(item)
        seen[test] += 1
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(autouse=True)
def verify_programs(monkeypatch):
    """Every compilation in a test has its program checked after each phase."""
    monkeypatch.setenv("FORGE_VERIFY", "1")


@pytest.fixture
def pin(request):
    """Check a text against `text/NAME.txt` beside the test file."""

    def check(name, text):
        path = Path(request.path).parent / "text" / f"{name}.txt"
        if request.config.getoption("--update-text"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing: run pytest --update-text and review it"
        assert text == path.read_text(encoding="utf-8")

    return check
