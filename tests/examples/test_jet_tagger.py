"""The example of jets on AI Engines runs."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "examples" / "jet_tagger.py"


def test_the_published_model_and_a_trained_one(tmp_path):
    found = subprocess.run(
        [sys.executable, SCRIPT, "--steps", "60", "--folder", tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    for part in ("int8_attention", "golden result: i8[1, 160, 8]", "57 kernels", "KL divergence",
                 "of decisions are the same"):  # fmt: skip
        assert part in found.stdout
    assert (tmp_path / "graph.cpp").is_file()
