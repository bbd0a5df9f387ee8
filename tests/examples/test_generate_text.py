import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "generate_text.py"


@pytest.mark.slow
def test_the_demo_writes_the_same_tokens_as_pytorch():
    found = subprocess.run(
        [sys.executable, SCRIPT, "--max-new-tokens", "4"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    assert "token by token equal: yes" in found.stdout
    for part in ("fuse-attention", "30 attention", "Forge-UGC: 4 tokens"):
        assert part in found.stdout
