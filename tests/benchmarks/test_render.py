from pathlib import Path

import pytest
from benchmarks.core.benchmark import Benchmark, registered
from benchmarks.core.environment import Environment
from benchmarks.core.measurement import Ask, Subject
from benchmarks.core.render import number, render
from benchmarks.core.results import Results, dump, parse, read_all

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SETUP = Environment(
    commit="0123456789ab", cpu="Some CPU", isa="avx2", cores=4, threads=2, torch="2.13.0",
    transformers="5.24.0", python="3.11.7", date="2026-01-02T03:04Z",
)  # fmt: skip
FAST = Ask("under 10 ms", at_most=10.0)
SAME = Ask("same program", at_least=1.0)


class Example(Benchmark):
    """Two models that do nothing."""

    name = "example"
    title = "An example"

    def run(self, settings):
        yield from ()


def measurements():
    for name, times, same in (
        ("gpt2", [4.0, 5.0, 6.0], True),
        ("llama", [20.0, 30.0, 40.0], False),
    ):
        row = Subject("Times", name)
        yield row.measure("time", "ms", times, published=208.0 if same else None, ask=FAST)
        yield row.measure("arena", "bytes", 1536)
        yield row.measure("same", "yes/no", same, ask=SAME)
    yield Subject("Times", "rival").quote("time", "ms", 12.5)
    yield Subject("Notes", "gpt2").note("fault", "a|b")


RESULTS = Results(SETUP, tuple(measurements()))


def test_document(pin):
    pin("results", render({"example": RESULTS}, {"example": Example}))


def test_a_result_file_has_a_line_a_row_and_comes_back():
    text = dump(RESULTS)
    assert text.count("\n") == len(RESULTS.measurements) + 2
    assert '"commit": "0123456789ab"' in text.splitlines()[1]
    assert parse(text) == RESULTS


def test_rows_of_two_runs_are_refused():
    other = dump(RESULTS).replace("0123456789ab", "cccccccccccc", 1)
    with pytest.raises(ValueError, match="a result file holds one run, this one holds 2"):
        parse(other)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1234.0, "count", "1,234"),
        (0.3456, "share", "34.6%"),
        (2 << 20, "bytes", "2.0 MiB"),
        (0.33333, "ratio", "0.333"),
        (8.4e-9, "number", "8.4e-09"),
        (3.14159, "ms", "3.14 ms"),
        (1234.56, "ms", "1,234.6 ms"),
        (1.0, "yes/no", "yes"),
        (0.0, "yes/no", "no"),
    ],
)
def test_numbers(value, unit, text):
    assert number(value, unit) == text


def test_every_file_is_a_benchmark_of_its_name():
    files = {path.stem for path in BENCHMARKS.glob("*.py") if not path.stem.startswith("__")}
    assert files == set(registered())
    for name, cls in registered().items():
        assert cls.__module__ == f"benchmarks.{name}"
        assert cls.title
        assert cls.__doc__


def test_the_document_in_the_repository_is_what_the_rows_say():
    found = read_all(BENCHMARKS / "results", tuple(registered()))
    if not found:
        pytest.skip("no results are recorded")
    document = (BENCHMARKS / "RESULTS.md").read_text(encoding="utf-8")
    assert document == render(found, registered())
