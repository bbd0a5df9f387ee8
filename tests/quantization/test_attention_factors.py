"""Factors of integer attention: given and measured."""

import pytest
import torch

from forge_ugc.errors import QuantizationError
from forge_ugc.ops.core.op import load_all
from forge_ugc.quantization.attention_factors import AttentionPlan, attention_factors, per_head
from forge_ugc.quantization.dyadic import dyadic

load_all()


def samples(seed=0, width=8):
    g = torch.Generator().manual_seed(seed)
    return tuple(torch.randint(-128, 128, (2, 6, width), generator=g).to(torch.int8)
                 for _ in range(3))  # fmt: skip


@pytest.mark.parametrize("softmax", ["none", "table", "polynomial"])
def test_measured_factors_fill_the_bytes(softmax):
    plan = AttentionPlan(heads=2, softmax=softmax, scale=0.5, score_steps=(0.1, 0.05))
    found = attention_factors(plan, samples(), (0.01, 0.02, 0.5), "attention")
    for head in range(2):
        q, k, _ = (x[..., head * 4 : head * 4 + 4].long() for x in samples())
        scores = found.score[head].apply(q @ k.transpose(-1, -2))
        assert int(scores.abs().max()) == 127
    assert found.score_steps == (0.1, 0.05)
    y = torch.ops.forge.int8_attention(
        *samples(), None if softmax != "table" else torch.zeros(2, 256, dtype=torch.int8) + 1,
        heads=2, softmax=softmax, score_multipliers=[f.multiplier for f in found.score],
        score_shifts=[f.shift for f in found.score],
        exp_multipliers=[17000, 17000], exp_shifts=[5, 6],
        context_multipliers=[m for m, _ in found.context],
        context_shifts=[s for _, s in found.context],
    )  # fmt: skip
    if softmax == "none":
        assert int(y.abs().max()) == 127


def test_the_step_of_scores_follows_from_those_of_queries_and_keys():
    plan = AttentionPlan(heads=1, softmax="none", scale=0.5, score=(dyadic(0.25),))
    found = attention_factors(plan, samples(), (0.01, 0.02, 0.5), "attention")
    assert found.score_steps == (pytest.approx(0.01 * 0.02 * 0.5 / 0.25),)


def test_given_factors_need_no_samples():
    plan = AttentionPlan(heads=1, softmax="table", score=(dyadic(0.25),), context=(2.0,))
    found = attention_factors(plan, None, (0.01, 0.02, 0.5), "attention")
    assert found.step == 0.25
    assert found.context == ((1 << 29, 28),)


def test_another_number_of_entries_than_heads_is_refused():
    plan = AttentionPlan(heads=2, score_steps=(1.0,))
    with pytest.raises(QuantizationError) as error:
        attention_factors(plan, samples(), (1.0, 1.0, 1.0), "attention")
    assert str(error.value) == (
        "score_steps has 1 entries, expected one for each of 2 heads\n  at: attention"
    )


def test_per_head():
    assert per_head(None, 2) is None
    assert per_head(0.5, 2) == (0.5, 0.5)
    assert per_head([1, 2], 2) == (1.0, 2.0)
