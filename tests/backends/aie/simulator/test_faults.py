"""Why a graph did not finish: reports of deadlocks and faults of kernels, whole."""

import pytest
from aie_sim_values import lines, numbers

from forge_ugc.errors import SimulationError


def stopped(run, inputs=range(32), **options):
    with pytest.raises(SimulationError) as caught:
        run("hang/graph.cpp", {"in.txt": numbers(inputs)}, **options)
    return str(caught.value)


def test_a_circle_of_waits_that_a_deeper_fifo_opens(run):
    assert stopped(run) == (
        "the graph deadlocked: 2 of its parts wait for each other in a circle\n"
        "  why: split (at hang/split.cc:8), iteration 0, waits to write split.out[0]: the net to "
        "join.in[0] is full, 16 of 16 words (hang/graph.cpp:30)\n"
        "       join, iteration 0, waits to read join.in[1]: the net from split.out[1] holds 0 of "
        "256 bytes (hang/graph.cpp:31)\n"
        "  fix: raise fifo_depth of the net split.out[0] -> join.in[0] (hang/graph.cpp:30) from "
        "16 to 32: with that the graph runs to its end"
    )


def test_the_depth_of_the_report_is_enough_and_needed(run):
    _, outputs = run("hang/graph.cpp", {"in.txt": numbers(range(32))}, defines=["DEPTH=32"])
    assert lines(outputs["out"], 1) == [i * (i + 1) for i in range(32)]
    assert "28 of 28 words" in stopped(run, defines=["DEPTH=28"])


def test_a_circle_that_no_fifo_opens(run):
    assert stopped(run, defines=["FEEDBACK"]) == (
        "the graph deadlocked: echo waits for itself\n"
        "  why: echo (at hang/join.cc:9), iteration 0, waits to read echo.in[1]: the net from "
        "echo.out[0] holds 0 of 16 words (hang/graph.cpp:22)\n"
        "  fix: no stream FIFO of the circle is full: the kernels must read and write in another "
        "order"
    )


def test_an_input_that_is_too_short(run):
    assert stopped(run, range(30), defines=["DEPTH=32"]) == (
        "split waits for data that will never come\n"
        "  why: split (at hang/split.cc:6), iteration 0, waits to read split.in[0]: the net from "
        "in holds 0 of 16 words (hang/graph.cpp:29)\n"
        "       in has sent its whole file\n"
        "  fix: run fewer iterations, or give a longer input file"
    )


def test_a_kernel_that_touches_memory_it_does_not_own(run):
    with pytest.raises(SimulationError) as caught:
        run("errors/graph.cpp", {"in.txt": "5\n"}, defines=["FAULT=13"])
    assert str(caught.value) == (
        "kernel pass failed\n"
        "  at: errors/pass.cc:15\n"
        "  why: an access of memory that the program does not own"
    )


def test_a_kernel_that_divides_by_zero(run):
    with pytest.raises(SimulationError) as caught:
        run("errors/graph.cpp", {"in.txt": "5\n"}, defines=["FAULT=14"])
    assert str(caught.value) == (
        "kernel pass failed\n  at: errors/pass.cc:17\n  why: an integer division by zero"
    )


def test_an_access_past_the_end_of_a_window(run):
    with pytest.raises(SimulationError) as caught:
        run("errors/graph.cpp", {"in.txt": numbers(range(4))}, defines=["FAULT=10"])
    assert str(caught.value) == (
        "kernel window_pass failed\n"
        "  at: errors/pass.cc:25\n"
        "  why: an access of 20 bytes at byte 0 of a window goes past its end; window and margin "
        "hold 16 bytes"
    )


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("1\ntwo\n", 2, "'two' is not a value of the port's data type"),
        ("1\n2\n4294967296\n", 3, "the value 4294967296 does not fit 32 bits"),
    ],
)
def test_a_malformed_input_file(run, tmp_path, text, line, why):
    with pytest.raises(SimulationError) as caught:
        run("cascade/graph.cpp", {"in.txt": text})
    assert str(caught.value) == f"{why}\n  at: {tmp_path}/in/in.txt:{line}"
