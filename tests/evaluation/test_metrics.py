import pytest

from forge_ugc.errors import InputError
from forge_ugc.evaluation.metrics import compile_efficiency, geometric_mean


def test_the_published_efficiency_of_gpt2():
    # arXiv 2604.16498v1: 6.82 ms, OpenVINO 8.45 ms, 1.000 s of compilation, CEI 1.239.
    assert compile_efficiency(8.45, 6.82, 1.0) == pytest.approx(1.239, abs=5e-4)
    assert compile_efficiency(10.0, 5.0, 4.0) == pytest.approx(0.5)


def test_the_geometric_mean_of_ratios():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([3.0]) == pytest.approx(3.0)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [-1.0], [float("nan")]])
def test_what_has_no_mean(values):
    with pytest.raises(InputError, match="a figure of merit needs numbers above zero"):
        geometric_mean(values)
    with pytest.raises(InputError, match=r"not 1\.0, 2\.0, 0\.0"):
        compile_efficiency(1.0, 2.0, 0.0)
