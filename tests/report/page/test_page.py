"""What the page holds equals the compilation's figures, and it is safe and self-contained."""

import base64
import hashlib
import html
import re
from dataclasses import replace

import pytest

import forge_ugc
from forge_ugc.errors import ForgeError
from forge_ugc.npuir.instruction import SourceLocation
from forge_ugc.passes.base import NearMiss
from forge_ugc.report.page.render import SCRIPTS, json_for_html
from forge_ugc.schedule.blocks import aligned


def squeezed(page):
    body = page[page.index("<body>") : page.index('<script type="application/json"')]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_totals_are_those_of_the_result(compiled, pages):
    result = compiled.result
    text = squeezed(pages.of(compiled, source="a decoder"))
    for words in (
        "Decoder for cpu",
        "a decoder",
        "precision as the model's",
        f"{result.seconds * 1e3:,.1f} ms compile time",
        f"{result.nodes_before} → {result.nodes_after} graph nodes",
        f"{result.instructions} instructions, views included",
        f"{sum(result.host_instructions.values())} host instructions",
        f"arena: {result.buffers.peak_bytes:,} B in {result.buffers.buffers} buffers",
        f"forge-ugc {forge_ugc.__version__}",
    ):
        assert words in text, words


def test_passes_are_those_of_the_pipeline(compiled, pages):
    pipeline = compiled.result.pipeline
    shown = pages.data(pages.of(compiled))["passes"]
    assert [(p["name"], p["round"], p["seconds"], p["changed"]) for p in shown] == [
        (run.name, run.round, run.seconds, run.changed) for run in pipeline.runs
    ]
    for row, run in zip(shown, pipeline.runs, strict=True):
        assert row["nodes_before"] == sum(count for _, count in run.before)
        assert row["nodes_after"] == sum(count for _, count in run.after)
        assert {name: after for name, _, after in row["operators"] if after} == dict(run.after)
        assert sum(group[4] for group in row["fired"]) == len(run.details)
        assert sum(group[4] for group in row["refused"]) == len(run.near_misses)
    assert any(row["fired"] for row in shown)


def test_phases_schedule_and_devices(null_compiled, pages):
    result, program = null_compiled.result, null_compiled.program
    data = pages.data(pages.of(null_compiled))
    assert dict(data["phases"]) == dict(result.phase_seconds)
    assert data["schedule"]["transitions_before"] == result.schedule.transitions_before
    assert data["schedule"]["transitions_after"] == result.schedule.transitions_after > 0
    assert sum(runs for _, _, runs in data["schedule"]["devices"]) == (
        result.schedule.transitions_after + 1
    )
    counted = {name: count for name, count, _ in data["schedule"]["devices"]}
    assert set(counted) == {"accelerator", "cpu"}
    assert sum(counted.values()) == sum(not i.is_view for i in program.instructions)


def test_the_arena_has_every_slot_of_the_program(compiled, pages):
    data = pages.data(pages.of(compiled))
    slots = {r.reg.id: r for r in compiled.program.results() if hasattr(r.place, "offset_bytes")}
    rows = {row[0]: row[1:] for row in data["arena"]["rows"]}
    assert set(rows) == set(slots)
    for number, (kind, first, last, offset, size, buffer) in rows.items():
        slot = slots[number].place
        assert (offset, size, buffer) == (slot.offset_bytes, slot.size_bytes, slot.buffer)
        assert data["strings"][kind] == str(slots[number].type)
        assert slots[number] in compiled.program.instructions[first].results
        assert first <= last
    top = max(offset + aligned(size) for _, _, _, offset, size, _ in rows.values())
    assert top == compiled.result.buffers.peak_bytes == data["arena"]["peak_bytes"]
    assert data["arena"]["lower_bound_bytes"] == compiled.result.buffers.lower_bound_bytes


def test_the_header_says_what_was_not_run(compiled, null_compiled, profile, pages):
    text = squeezed(pages.of(compiled))
    assert "The program was compiled, not run" in text
    assert "The target is the processor itself" in text
    note = "no hardware: the accelerator's share runs on the host"
    text = squeezed(pages.of(null_compiled, target_note=note))
    assert f"Of its hardware the target “null” says: {note}" in text
    text = squeezed(pages.of(compiled, profile=profile.to_json()))
    assert "2 calls were measured on the processor above" in text
    assert "compiled, not run" not in text


def test_parts_that_were_not_asked_for_say_how_to_get_them(compiled, pages):
    pipeline = replace(compiled.result.pipeline, captured=None)
    page = pages.of(compiled, result={"pipeline": pipeline})
    text = squeezed(page)
    assert "No graphs were kept. Compile with Options(keep_graphs=True)" in text
    assert "No profile was taken." in text
    assert pages.data(page)["graphs"] is None
    assert 'id="floorplan"' not in page


def test_a_floorplan_has_its_section(compiled, floorplan, pages):
    page = pages.of(compiled, result={"floorplan": floorplan})
    assert "2 tiles used of 5 by 4 on an array." in squeezed(page)
    shown = pages.data(page)["floorplan"]
    assert shown["tiles"][0]["kernel"] == "dense_i8"
    assert shown["streams"] == [[1, 0]]


def test_texts_from_outside_cannot_become_markup(compiled, pages, evil):
    pipeline = compiled.result.pipeline
    place = SourceLocation(file=evil, line=1, module=evil)
    miss = NearMiss(rule=evil, node="x", reason=evil, location=place)
    runs = tuple(replace(run, near_misses=(miss,)) for run in pipeline.runs)
    page = pages.of(
        compiled, source=evil, target_note=evil,
        result={"model": evil, "pipeline": replace(pipeline, runs=runs)},
    )  # fmt: skip
    assert "window.hacked=1</script>" not in page
    assert "<img" not in page
    assert page.count("<script") == page.count("</script>") == 2
    group = pages.data(page)["passes"][0]["refused"][0]
    assert group == [evil, evil, evil, f"{evil}:1", 1]


def test_json_in_a_page_has_no_markup_and_no_numbers_that_json_lacks():
    text = json_for_html({"a": [float("nan"), float("inf"), 1.5], "<b>": "&\u2028\u2029"})
    assert text == '{"a":[null,null,1.5],"\\u003cb\\u003e":"\\u0026\\u2028\\u2029"}'


def test_the_page_loads_nothing_and_runs_its_own_script_alone(compiled, pages):
    page = pages.of(compiled)
    assert not re.search(r"\b(src|srcset|action|poster)\s*=|@import|url\(", page)
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', page))
    addresses = set(re.findall(r"\w+://[^\s\"'<>`]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name of SVG, never fetched
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    script = re.search(r"<script>(.*)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )


def test_a_page_of_30_layers_stays_small(deep, pages):
    page = pages.of(deep)
    assert len(page.encode()) < 5_000_000
    assert deep.result.attention_fused == 30
    lines = pages.data(page)["graphs"]["lines"]
    assert len(lines) >= deep.result.nodes_before + deep.result.nodes_after - 30


def test_every_script_is_in_the_page(compiled, pages):
    from importlib import resources

    static = resources.files("forge_ugc.report.page.static")
    names = {path.name for path in static.iterdir() if path.name.endswith(".js")}
    assert names == {f"{name}.js" for name in SCRIPTS}
    page = pages.of(compiled)
    for name in names:
        assert static.joinpath(name).read_text(encoding="utf-8") in page


def test_a_compiled_model_writes_its_page(compiled, profile, tmp_path):
    compiled.report_html(tmp_path / "page.html", profile=profile, source="here")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "cpu: native engine" in squeezed(page) or "cpu: runs through" in squeezed(page)


def test_a_loaded_model_has_nothing_to_report(compiled, tmp_path):
    compiled.save(tmp_path / "net.forge")
    with pytest.raises(ForgeError, match="a loaded model has no compilation result"):
        forge_ugc.load(tmp_path / "net.forge").report_html(tmp_path / "page.html")
