import benchmarks.concurrency as concurrency
import pytest
import torch
from benchmarks.core.benchmark import Settings
from benchmarks.core.measurement import Subject

QUIET = Settings(quick=True, say=lambda text: None)


class FakeModel:
    """Returns its input; every tenth call adds an ulp where `broken`."""

    class result:
        host_instructions = {"aten.add.Tensor": 2}  # noqa: RUF012 - nobody changes it

    def __init__(self, broken):
        self.broken, self.calls = broken, 0

    def __call__(self, x):
        self.calls += 1
        return torch.nextafter(x, x + 1) if self.broken and self.calls % 10 == 0 else x.clone()


def measured(broken):
    inputs = tuple((torch.full((3,), float(i)),) for i in range(4))
    program = concurrency._Program(FakeModel(broken), inputs, tuple(x for (x,) in inputs))
    row = Subject("Calls", "fp32")
    return {r.metric: r for r in concurrency._measure(QUIET, row, [program, program], 100)}


@pytest.mark.parametrize(("broken", "different", "met"), [(False, 0, True), (True, 10, False)])
def test_results_that_differ_in_a_bit_are_counted(broken, different, met):
    got = measured(broken)
    assert (got["different results"].median, got["different results"].met) == (different, met)
    assert got["calls"].median == 100
    assert got["host instructions"].median == 4
    assert got["growth"].median < 1 << 20


@pytest.mark.slow
def test_two_real_programs():
    settings = Settings(quick=True, say=lambda text: None, layers=1, precisions=("fp32",))
    got = {row.metric: row for row in concurrency.Concurrency().run(settings)}
    assert got["different results"].met
