"""The page in a real browser: it draws, and answers clicks and the pointer."""

import base64

import pytest

SECTIONS = (
    "header",
    "totals",
    "timeline",
    "graphs",
    "arena",
    "schedule",
    "roofline",
    "environment",
)


@pytest.mark.parametrize("dark", [False, True])
def test_every_section_is_drawn_light_and_dark(show, browser, compiled, pages, dark):
    browser.dark(dark)
    page = show(pages.of(compiled))
    for name in SECTIONS:
        assert page.text(f"#{name}").strip(), name
    for name in ("timeline", "arena", "schedule"):
        assert page.count(f"#{name}-chart svg rect") > 0, name
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(background.split("(")[1].split(",")[0])
    assert red < 60 if dark else red > 200
    browser.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != background


def test_the_timeline_has_every_phase_and_pass(show, compiled, pages):
    page = show(pages.of(compiled))
    assert page.count("rect[data-phase]") == len(compiled.result.phase_seconds)
    assert page.count("rect[data-pass]") == len(compiled.result.pipeline.runs)
    assert page.count("#timeline-list tbody tr") == len(compiled.result.pipeline.runs)


def test_choosing_a_pass_changes_the_detail_and_the_graphs(show, compiled, pages):
    page = show(pages.of(compiled))
    runs = compiled.result.pipeline.runs
    wanted = next(i for i, run in enumerate(runs) if run.name == "fuse-attention")
    assert runs[wanted].changed == 4
    first = page.text("#graphs-view")
    page.click(f"#timeline-list tr[data-pass='{wanted}']")
    assert "fuse-attention, round 1: 4 rewrites" in page.text("#timeline-detail")
    assert page.text("#graphs-view") != first
    assert page.evaluate("document.getElementById('graphs-pass').value") == str(wanted)
    assert "= attention(" in page.text("#graphs-view .added")
    assert "aten.scaled_dot_product_attention" in page.text("#graphs-view")
    page.click("rect[data-pass='0']")
    assert "dead-code, round 1" in page.text("#timeline-detail")
    assert "This pass left the graph as it was." in page.text("#graphs-view")


def test_what_a_rule_replaced_has_its_colour_and_is_framed_with_it(show, compiled, pages):
    page = show(pages.of(compiled))
    index = next(
        i for i, run in enumerate(compiled.result.pipeline.runs) if run.name == "fuse-attention"
    )
    page.click(f"#timeline-list tr[data-pass='{index}']")
    page.point_at("#graphs-view .added[data-group]")
    assert page.count("#graphs-view .removed.linked") > 0
    colours = page.evaluate(
        "[...document.querySelectorAll('.linked')].map(e => getComputedStyle(e).borderLeftColor)"
    )
    assert len(set(colours)) == 1


def test_layers_that_look_alike_are_one_fold(show, deep, pages):
    page = show(pages.of(deep))
    assert "layers.1 … layers.29: 29 more like layers.0" in page.text("#graphs-view")
    shown = page.count("#graphs-view .pair")
    assert 0 < shown < 100
    page.evaluate("document.getElementById('graphs-open').click()")
    assert page.count("#graphs-view .pair") > 20 * shown
    assert "layers.17" in page.text("#graphs-view")
    page.evaluate("document.getElementById('graphs-close').click()")
    assert page.count("#graphs-view .pair") == 0


def search(page, words):
    page.evaluate(
        f"(() => {{ const e = document.getElementById('graphs-search'); e.value = {words!r};"
        "e.dispatchEvent(new Event('input')); })()"
    )


def test_search_finds_lines_in_every_layer(show, compiled, pages):
    page = show(pages.of(compiled))
    search(page, "layers.2.up")
    lines = page.text("#graphs-view")
    assert "layers_2_up" in lines
    assert "layers_1_up" not in lines
    search(page, "no such thing")
    assert "No line holds" in page.text("#graphs-view")


def test_the_pointer_over_a_buffer_shows_its_register(show, compiled, pages):
    page = show(pages.of(compiled))
    data = pages.data(pages.of(compiled))
    rows = data["arena"]["rows"]
    assert page.count("rect[data-register]") == len(rows)
    register, kind, first, last, offset, size, _ = max(rows, key=lambda row: row[5])
    page.point_at(f"rect[data-register='{register}']")
    shown = page.text("#tooltip")
    instruction = data["strings"][data["instructions"][first][1]]
    for words in (
        f"%{register} : {data['strings'][kind]}",
        f"instruction {first}: {instruction}",
        f"needed from {first} to {last}",
        f"at {offset:,}, {size:,} B",
    ):
        assert words in shown, words
    words = page.text("#arena-chart svg") or page.evaluate(
        "document.querySelector('#arena-chart svg').textContent"
    )
    assert "peak" in words
    assert "lower bound" in words


def test_dragging_enlarges_the_arena_and_a_double_click_shows_all(show, compiled, pages):
    page = show(pages.of(compiled))
    every = page.count("rect[data-register]")
    x, y = page.point_at("#arena-chart svg")
    for kind, at in (("mousePressed", x), ("mouseMoved", x + 120), ("mouseReleased", x + 120)):
        page.send(
            "Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1
        )
    assert 0 < page.count("rect[data-register]") < every
    page.evaluate(
        "document.querySelector('#arena-chart svg').dispatchEvent(new MouseEvent('dblclick'))"
    )
    assert page.count("rect[data-register]") == every


def test_devices_have_a_lane_each(show, null_compiled, pages):
    page = show(pages.of(null_compiled))
    runs = null_compiled.result.schedule.transitions_after + 1
    assert page.count("rect[data-device]") == runs
    assert page.count("rect[data-device=accelerator]") > 0
    page.point_at("rect[data-device=accelerator]")
    assert "accelerator: " in page.text("#tooltip")


def test_a_profile_becomes_a_roofline_and_a_table(show, compiled, profile, pages):
    page = show(pages.of(compiled, profile=profile.to_json()))
    assert page.count("#roofline-kernels tbody tr") == len(profile.kernels)
    assert profile.kernels[0].name in page.text("#roofline-kernels")
    assert page.count("circle[data-point]") > 0
    if profile.machine is not None:
        assert page.count("[data-roof]") >= 2
    page.point_at("circle[data-point]")
    assert "GFLOP/s" in page.text("#tooltip")


def test_a_floorplan_shows_its_tiles(show, compiled, floorplan, pages):
    page = show(pages.of(compiled, result={"floorplan": floorplan}))
    assert page.count("rect[data-tile]") == 2
    page.point_at("rect[data-tile='1,2']")
    assert "tile (1, 2), compute\ndense_i8\ninstruction 3: " in page.text("#tooltip")
    assert "20.0 KiB of 32.0 KiB" in page.text("#tooltip")


def test_texts_from_outside_stay_texts(show, compiled, pages, evil):
    page = show(pages.of(compiled, source=evil, result={"model": evil}))
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("document.querySelector('h1').textContent").startswith(evil)
    assert page.count("img") == 0


def test_the_page_prints(show, compiled, pages):
    page = show(pages.of(compiled))
    page.send("Emulation.setEmulatedMedia", media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    printed = base64.b64decode(page.send("Page.printToPDF", printBackground=True)["data"])
    page.send("Emulation.setEmulatedMedia", media="")
    assert printed.startswith(b"%PDF")
