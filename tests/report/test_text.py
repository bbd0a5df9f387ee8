import re
from dataclasses import replace

from forge_ugc.npuir.instruction import SourceLocation
from forge_ugc.report.grouping import group_near_misses
from forge_ugc.report.tables import group_table, operator_table
from forge_ugc.report.text import render, render_report


def squeezed(text):
    return re.sub(r"[ │┃]+", " ", text)


def test_report_shows_every_figure(make_result):
    text = squeezed(render_report(make_result()))
    for line in (
        "Net for cpu",
        "graph nodes 10 -> 4 (60.0% fewer)",
        "fused operators 4 rms_norm",
        "precision as the model's",
        "instructions 6, of which 4 run through PyTorch (host)",
        "registers -> buffers 6 -> 2 in the arena + 1 outside (50.0% fewer)",
        "arena 102.5 KiB, 5.0% above the largest live set (linear-scan)",
        "constants 3.0 MiB",
        "device transitions 5 -> 3",
        "capture 3,000.0 ms 75.0%",
        "all 4,000.0 ms",
        "fuse-operators 1 250.0 ms 3 10 -> 4",
        "dead-code 2 250.0 ms 0 4 -> 4",
        "all 750.0 ms",
    ):
        assert line in text, line
    assert "Near misses" not in text
    assert "difference" not in text


def test_near_misses_and_verified_differences_appear_if_there_are_any(make_result, events):
    misses = [events.missed(0), events.missed(5)]
    text = squeezed(render_report(make_result(near_misses=misses, difference=1.5e-6)))
    assert "sdpa the mask is [float] model.layers.*.attn 2" in text
    assert "model.py:9" in text
    assert "fuse-operators 1 250.0 ms 3 10 -> 4 1.5e-06" in text


def test_operator_table_has_both_columns():
    text = squeezed(render(operator_table({"aten.mul.Tensor": 8, "gone": 1}, {"rms_norm": 4})))
    assert "aten.mul.Tensor 8 " in text
    assert "rms_norm 4 " in text


def test_source_lines_lose_the_folder_of_installed_packages(events, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for file in ("/a/b/site-packages/net/x.py", f"{tmp_path}/net/x.py"):
        place = SourceLocation(file=file, line=3)
        groups = group_near_misses([replace(events.missed(0), location=place)])
        assert " net/x.py:3 " in squeezed(render(group_table("Near misses", "why", groups)))


def test_an_empty_group_table_is_a_table():
    assert "Near misses" in render(group_table("Near misses", "why", ()))
