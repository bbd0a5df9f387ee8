"""Graphs run as they are: values, files, figures."""

from dataclasses import replace

import pytest
from aie_sim_values import lines, numbers

from forge_ugc.backends.aie.simulator import simulate
from forge_ugc.errors import OptionError, SimulationError

CHAIN = {"data/in.txt": numbers(range(16))}


def test_a_chain_of_streams(run):
    result, outputs = run("streams/graph.cpp", CHAIN)
    expected = [
        # Each adder adds its table and a hundred times its own number of calls.
        (i + 2 * (i % 8 + 1 + 100 * (i // 8))) * (2, 3)[i % 2]
        for i in range(16)
    ]
    assert lines(outputs["out"], 2) == expected
    assert result.outputs["out"].parts[-3:] == ("out", "data", "out.txt")
    assert [k.name for k in result.kernels] == ["add_table#0", "add_table#1", "scale"]
    assert [k.iterations for k in result.kernels] == [2, 2, 2]
    assert result.warnings == ()
    assert result.exit_code == 0
    words = {p.port: p.count for p in result.kernels[0].ports}
    assert words == {"in[0]": 16, "out[0]": 16}


def test_two_runs_are_identical(run):
    first, outputs = run("streams/graph.cpp", CHAIN)
    second, again = run("streams/graph.cpp", CHAIN)
    assert again == outputs
    assert replace(second, build_seconds=0, run_seconds=0) == replace(
        first, build_seconds=0, run_seconds=0
    )


def test_time_is_that_of_the_slowest_part(run):
    """A 32-bit PLIO at a quarter of the clock brings a word in 4 cycles: 8 words in 32."""
    result, _ = run("streams/graph.cpp", {"data/in.txt": numbers(range(64))}, iterations=8)
    # A call takes 44 cycles, and the words of an iteration come while it lasts.
    assert all(44 < k.initiation_interval < 44 + 2 * 8 for k in result.kernels)
    quick, _ = run(
        "streams/graph.cpp", {"data/in.txt": numbers(range(64))}, iterations=8,
        costs={"call_cycles": 0},
    )  # fmt: skip
    assert quick.interval_cycles == 32
    assert quick.kernels[0].stalled_cycles > 0
    assert quick.latency_cycles < result.latency_cycles


def test_blocks_windows_and_streams(run):
    result, outputs = run(
        "blocks/graph.cpp",
        {
            "samples.txt": "1 2 3 4\n5 6 7 8\n9 10 11 12\n13 14 15 16\n",
            "points.txt": "1 2 3 4\nT 3 ns\nTLAST\n5 6 7 8\n9 10 11 12\n13 14 -15 -16\n",
            "reals.txt": numbers([1.5, 2, 3, -4.25] * 4),
        },
    )
    # Three samples together, each eight of them backwards; the margin is from the block before.
    sums = [sum(range(max(1, i - 2), i + 1)) for i in range(1, 17)]
    assert lines(outputs["sums"], 4) == sums[7::-1] + sums[:7:-1]
    assert outputs["stars"] == (
        "1 -2 3 -4 \nTLAST\n5 -6 7 -8 \n9 -10 11 -12 \nTLAST\n13 -14 -15 16 \n"
    )
    assert outputs["halves"].split() == ["0.75", "1", "1.5", "-2.125"] * 4
    assert [k.tile for k in result.kernels] == [(4, 0), (7, 2), None, None]


def test_classes_templates_subgraphs_and_broadcast(run):
    result, outputs = run("classes/graph.cpp", {"in.txt": numbers(range(1, 9))}, iterations=2)
    history = [0, 0, *range(1, 9)]
    filtered = [7 + history[i + 2] + 10 * history[i + 1] + 100 * history[i] for i in range(8)]
    louder = [3 * v + 1 + i // 4 for i, v in enumerate(filtered)]
    plus, minus = [v + 1005 for v in louder], [v - 5 for v in louder]
    assert [lines(outputs[f"out{i}"], 1) for i in range(4)] == [
        plus, [-v for v in plus], minus, [-v for v in minus],
    ]  # fmt: skip
    names = [k.name for k in result.kernels]
    assert names == ["shift_by<5>", "shift_by<-5>", "Filter", "Amplifier<int, 3u>"]


def test_run_time_parameters(run):
    result, outputs = run("parameters/graph.cpp", {"in.txt": numbers(range(1, 13))})
    gains = [10] * 4 + [100] * 4 + [1000] * 4
    weights = [1, 2, 3, 4] * 2 + [1] * 4
    expected = [(i + 1) * gains[i] * weights[i] for i in range(12)]
    assert lines(outputs["out"], 1) == expected
    assert result.log == f"after one: {sum(expected[:4])}\nafter three: {sum(expected[4:])}\n"


def test_a_cascade(run):
    _, outputs = run("cascade/graph.cpp", {"in.txt": numbers(range(16))})
    assert lines(outputs["out"], 1) == [101 * i for i in range(16)]


def test_memory_of_the_host_and_older_spellings(run):
    result, outputs = run("memory/graph.cpp", {"in.txt": numbers(range(16))})
    assert lines(outputs["results"], 1) == list(range(1, 17))
    values, latency = result.log.splitlines()
    assert values == "1 11 151"
    assert int(latency.removeprefix("latency ")) == pytest.approx(result.latency_cycles, abs=1)


def packet(way, values):
    bits = 0x0FFF0000 | way
    header = bits if bits.bit_count() % 2 else bits | 0x80000000
    rows = [header - (1 << 32) if header >> 31 else header, *values[:-1], "TLAST", values[-1]]
    return "".join(f"{row}\n" for row in rows)


def test_packets_go_where_their_header_says(run):
    sent = [packet(1, [1, 2, 3, 4]), packet(0, [5, 6, 7])]
    _, outputs = run("packets/graph.cpp", {"in.txt": "".join(sent)})
    found = outputs["out"].replace(" ", "")
    parts = [packet(1, [2001, 2002, 2003, 2004]), packet(0, [1005, 1006, 1007])]
    assert found in ("".join(parts), "".join(reversed(parts)))


def test_time_stamps_can_be_read_again(run):
    result, outputs = run("streams/graph.cpp", CHAIN, time_stamps=True)
    rows = outputs["out"].splitlines()
    first = result.plios[1].first_cycle + 1  # a line of 64 bits ends with its second word
    assert rows[0].startswith("T ")
    assert float(rows[0].split()[1]) >= result.seconds(first) * 1e9
    again, _ = run("streams/graph.cpp", {"data/in.txt": outputs["out"]})
    assert again.plios[0].total_words == 16


def test_data_that_nobody_reads(run):
    result, _ = run("streams/graph.cpp", {"data/in.txt": numbers(range(60))})
    assert result.warnings == (
        "PLIO in: 28 of 60 words of data/in.txt were not taken",
        "16 words were not read from in -> add_table#0.in[0]",
    )


def test_what_must_not_be_asked(tmp_path):
    with pytest.raises(OptionError) as caught:
        simulate("none.cpp")
    assert str(caught.value) == (
        "there is no file none.cpp\n  fix: name the C++ file with the graph"
    )
    with pytest.raises(OptionError) as caught:
        simulate("streams/graph.cpp", device="vck5000")
    assert str(caught.value) == (
        "no AI Engine device is called 'vck5000'\n  fix: one of vck190, vek280"
    )
    with pytest.raises(OptionError) as caught:
        simulate("streams/graph.cpp", iterations=0)
    assert str(caught.value) == "iterations is 0\n  fix: at least 1"
    with pytest.raises(OptionError) as caught:
        simulate("streams/graph.cpp", data_dir="nowhere")
    assert str(caught.value) == ("there is no folder nowhere\n  fix: data_dir is where inputs are")


def test_a_cost_that_does_not_exist(run):
    with pytest.raises(SimulationError) as caught:
        run("streams/graph.cpp", CHAIN, costs={"luck": 7})
    assert caught.value.what == "there is no cost called luck"


def test_a_run_without_end(run):
    with pytest.raises(SimulationError) as caught:
        run("streams/graph.cpp", CHAIN, timeout_s=1e-4)
    assert str(caught.value) == (
        "the simulation did not end within 0.0001 s\n"
        "  why: a kernel loops without end, or graph.run(-1) has no input that ends\n"
        "  fix: fewer iterations (--iterations N), or a longer timeout"
    )
