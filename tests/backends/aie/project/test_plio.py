"""PLIO files: order, padding, time stamps, faults."""

from pathlib import Path

import numpy as np
import pytest

from forge_ugc.backends.aie.design import Plio
from forge_ugc.backends.aie.project.plio import read_outputs, write_inputs
from forge_ugc.errors import SimulationError

PORT = Plio(name="x", is_input=True, bits=128, shape=(8, 16), tile_rows=8, tile_columns=8)


def matrices(jets=2, rows=5, columns=12):
    return np.random.default_rng(0).integers(-128, 128, (jets, rows, columns), dtype=np.int8)


def test_a_line_holds_a_transfer(tmp_path):
    write_inputs(tmp_path / "data" / "x.txt", matrices(), PORT)
    lines = (tmp_path / "data" / "x.txt").read_text().splitlines()
    assert len(lines) == 2 * 8 * 16 // 16
    first = matrices()[0]
    assert lines[0].split() == [str(v) for v in (*first[0, :8], *first[1, :8])]


def test_what_is_written_is_read_back(tmp_path):
    write_inputs(tmp_path / "x.txt", matrices(), PORT)
    assert np.array_equal(read_outputs(tmp_path / "x.txt", PORT, (5, 12)), matrices())


def test_time_stamps_and_tlast_are_dropped(tmp_path):
    path = tmp_path / "x.txt"
    write_inputs(path, matrices(), PORT)
    lines = path.read_text().splitlines()
    stamped = [text for i, line in enumerate(lines) for text in (f"T {i * 3200.0} ps", line)]
    path.write_text("\n".join([*stamped[:-1], "TLAST", stamped[-1]]))
    assert np.array_equal(read_outputs(path, PORT, (5, 12)), matrices())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "1 2 3",
            "x.txt holds 3 values, expected a multiple of 128\n  at: {}\n  why: one iteration "
            "gives a matrix of 8 x 16\n  fix: look for kernels that waited at the end: the inputs "
            "may be too short",
        ),
        ("200 " * 128, "x.txt holds values of 200 to 200, expected 8 bits\n  at: {}"),
        (
            "1.5 " * 128,
            "x.txt is no PLIO file of integers\n  at: {}\n  why: invalid literal for int() with "
            "base 10: '1.5'",
        ),
    ],
)
def test_bad_files(tmp_path, text, message):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(SimulationError) as caught:
        read_outputs(tmp_path / "x.txt", PORT, (5, 12))
    assert str(caught.value) == message.format(tmp_path)


def test_no_file():
    with pytest.raises(SimulationError) as caught:
        read_outputs(Path("nowhere") / "x.txt", PORT, (5, 12))
    assert str(caught.value) == (
        "the simulation wrote no x.txt\n"
        "  at: nowhere\n"
        "  why: it ended before the first result, or the graph has no such port"
    )
