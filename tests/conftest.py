"""What all tests share: pinned text files and their renewal."""

from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--update-text",
        action="store_true",
        help="rewrite the pinned text files under tests/**/text for review",
    )


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
