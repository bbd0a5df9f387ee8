"""Graphs run as they are: values, files, figures."""

from aie_sim_values import lines, numbers


def test_a_chain_of_streams(run):
    result, outputs = run("streams/graph.cpp", {"data/in.txt": numbers(range(16))})
    table = [1, 2, 3, 4, 5, 6, 7, 8]
    expected = [(i + 2 * (table[i % 8] + 100 * (i // 8))) * (2, 3)[i % 2] for i in range(16)]
    assert lines(outputs["out"], 2) == expected
    assert result.outputs["out"].name == "out.txt"
    assert [k.name for k in result.kernels] == ["add_table#0", "add_table#1", "scale"]
    assert [k.iterations for k in result.kernels] == [2, 2, 2]
    assert result.warnings == ()
