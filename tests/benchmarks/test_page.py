from benchmarks.core import page
from benchmarks.core.benchmark import Benchmark, Chart
from benchmarks.core.environment import Environment
from benchmarks.core.measurement import Ask, Subject
from benchmarks.core.results import Results

SETUP = Environment(
    commit="0123456789ab", cpu="Some CPU", isa="avx2", cores=4, threads=2, torch="2.13.0",
    transformers="5.24.0", python="3.11.7", date="2026-01-02T03:04Z",
)  # fmt: skip


class Example(Benchmark):
    """Two *models* that do `nothing`.

    A second paragraph.
    """

    name = "example"
    title = "An example"
    charts = (
        Chart(table="Times", metrics=("forge", "peer")),
        Chart(table="Phases", metrics=("export", "compile"), stacked=True),
        Chart(table="Of nothing", metrics=("x",)),
    )

    def run(self, settings):
        yield from ()


def measurements():
    for name in ("gpt2", "lfm2, 10 layers"):
        row = Subject("Times", name)
        yield row.measure("forge", "s", 1.0, ask=Ask("under 2 s", at_most=2.0))
        yield row.note("peer", "failed")
        for engine in ("forge", "peer"):
            phases = Subject("Phases", f"{name}, {engine}")
            yield phases.measure("export", "s", 0.25)
            yield phases.measure("compile", "s", 0.75)


def text():
    return page.results_page({"example": Results(SETUP, tuple(measurements()))},
                             {"example": Example})  # fmt: skip


def test_charts_and_tables_of_all_results():
    got = text()
    assert got.count("<svg") == 3  # the times, and the phases of each of two models
    assert "Phases: lfm2, 10 layers" in got
    assert "<p>Two models that do nothing.</p>" in got
    assert "commit 0123456789ab" in got
    assert "<td>under 2 s</td><td>2 of 2</td>" in got
    assert "<td>failed</td>" in got
    assert "http" not in got.replace("http://www.w3.org/", "")


def test_without_matplotlib_the_page_says_so(monkeypatch):
    monkeypatch.setattr(page, "can_plot", lambda: False)
    got = text()
    assert "<svg" not in got
    assert "No charts: they need matplotlib" in got
