"""Figures of fidelity."""

import pytest
import torch

from forge_ugc.quantization.report import QuantizationReport, agreement, divergence, noise

EXACT = torch.tensor([[1.0, 2.0], [3.0, 1.0], [0.0, 0.0]])


def test_noise():
    assert noise(EXACT, EXACT) == 0.0
    assert noise(torch.tensor([3.0, 4.0]), torch.tensor([3.0, 4.5])) == pytest.approx(0.1)
    assert noise(torch.zeros(2), torch.zeros(2)) == 0.0
    assert noise(torch.zeros(2), torch.ones(2)) == 1.0


def test_divergence_is_torchs():
    got = EXACT + torch.tensor([[0.1, 0.0], [0.0, 0.2], [0.0, 0.0]])
    want = torch.nn.functional.kl_div(
        got.double().log_softmax(-1), EXACT.double().softmax(-1), reduction="none"
    ).sum(-1)
    torch.testing.assert_close(divergence(EXACT, got), want)


def test_agreement_counts_ties_that_hold_the_exact_decision():
    assert agreement(EXACT, EXACT) == 1.0
    got = torch.tensor([[2.0, 2.0], [1.0, 3.0], [0.0, 0.0]])
    assert agreement(EXACT, got) == pytest.approx(2 / 3)


def test_a_report_is_one_line():
    report = QuantizationReport(
        method="mse", softmax="table", jets=8, layers=(), kl_mean=1e-3, kl_max=2e-3, agreement=0.5,
        relative_error=0.01, max_abs_error=0.1,
    )  # fmt: skip
    assert str(report) == (
        "int8 by mse over 8 jets: KL divergence 1.00e-03 mean, 2.00e-03 max; 50.0% of decisions as "
        "in floating point; relative error 1.00%"
    )
