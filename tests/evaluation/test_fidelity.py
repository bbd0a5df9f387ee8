import math

import pytest
import torch

from forge_ugc.errors import InputError
from forge_ugc.evaluation.fidelity import Fidelity, combine, compare_logits

INF, NAN = math.inf, math.nan


def test_equal_logits_do_not_differ():
    logits = torch.tensor([[[1.0, 2.0, -INF], [0.0, -3.0, 5.0]]])
    assert compare_logits(logits, logits.clone()) == Fidelity(
        positions=2, max_abs_difference=0.0, mean_kl=0.0, max_kl=0.0, same_choice=1.0
    )


def test_values_by_hand():
    # p = (1/2, 1/2); q = (1/4, 3/4): KL(p || q) = ln(2/sqrt(3)). The second row is equal.
    want = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    got = torch.tensor([[0.0, math.log(3.0)], [1.0, 0.0]])
    found = compare_logits(want, got)
    kl = math.log(2 / math.sqrt(3))
    assert found.positions == 2
    assert found.max_abs_difference == pytest.approx(math.log(3.0))
    assert found.max_kl == pytest.approx(kl)
    assert found.mean_kl == pytest.approx(kl / 2)
    assert found.same_choice == 0.5


def test_the_divergence_takes_its_mean_over_the_reference():
    # p = (1/4, 3/4), q = (1/2, 1/2): other than the other way round.
    want, got = torch.tensor([[0.0, math.log(3.0)]]), torch.zeros(1, 2)
    kl = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    assert compare_logits(want, got).max_kl == pytest.approx(kl)


def test_a_shift_of_all_logits_is_a_difference_but_no_divergence():
    want = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    found = compare_logits(want, want + 4.0)
    assert found.max_abs_difference == 4.0
    assert found.max_kl == pytest.approx(0.0, abs=1e-15)


def test_differences_far_below_float32_resolution_of_the_sum_are_seen():
    want = torch.zeros(1, 50_000)
    got = want.clone()
    got[0, 7] = 1e-3
    # Second order: KL is half the variance of the difference under p.
    share = 1 / 50_000
    assert compare_logits(want, got).max_kl == pytest.approx(0.5e-6 * share * (1 - share), rel=1e-3)


@pytest.mark.parametrize("broken", [NAN, INF, -INF])
def test_a_broken_candidate_is_infinitely_far(broken):
    found = compare_logits(torch.zeros(3, 2), torch.tensor([[0.0, 0.0], [0.0, broken], [0.0, 0.0]]))
    assert found.max_abs_difference == INF
    assert found.max_kl == INF
    assert found.mean_kl == INF


def test_a_candidate_that_allows_more_than_the_reference_differs_finitely_in_divergence():
    want, got = torch.tensor([[0.0, -INF]]), torch.tensor([[0.0, 0.0]])
    found = compare_logits(want, got)
    assert found.max_abs_difference == INF
    assert found.max_kl == pytest.approx(math.log(2.0))


def test_parts_are_weighted_by_positions():
    torch.manual_seed(0)
    want, got = torch.randn(2, 3, 5), torch.randn(2, 3, 5)
    whole = compare_logits(want, got)
    parts = [compare_logits(want[0, :1], got[0, :1]), compare_logits(want[0, 1:], got[0, 1:]),
             compare_logits(want[1], got[1])]  # fmt: skip
    total = combine(parts)
    assert total.positions == 6
    for name in ("max_abs_difference", "mean_kl", "max_kl", "same_choice"):
        assert getattr(total, name) == pytest.approx(getattr(whole, name), rel=1e-12)


def test_one_position_without_other_axes():
    assert compare_logits(torch.zeros(4), torch.zeros(4)).positions == 1


def test_shapes_must_agree():
    with pytest.raises(InputError) as caught:
        compare_logits(torch.zeros(1, 4, 8), torch.zeros(1, 3, 8))
    assert str(caught.value) == (
        "the logits cannot be compared\n"
        "  why: the reference is [1, 4, 8], the candidate [1, 3, 8]\n"
        "  fix: give both as [..., vocabulary], not empty"
    )


def test_there_must_be_something_to_compare():
    with pytest.raises(InputError, match="the logits cannot be compared"):
        compare_logits(torch.zeros(0, 8), torch.zeros(0, 8))
    with pytest.raises(InputError, match="there is no comparison to combine"):
        combine([])


def test_a_broken_reference_is_refused():
    with pytest.raises(InputError, match="the reference logits hold NaN"):
        compare_logits(torch.tensor([[NAN, 0.0]]), torch.zeros(1, 2))
