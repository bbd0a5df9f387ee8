"""Int8 attention: values, distance from attention in floating point, type rule."""

import pytest
import torch
from exact_integers import attended, exponential
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.int8_attention import Int8Attention
from forge_ugc.quantization.integer_softmax import (
    EXPONENTIAL_BOUND,
    context_factor,
    distance_factor,
    weight_table,
)

load_all()


def operands(seed, *shape):
    g = torch.Generator().manual_seed(seed)
    return [torch.randint(-128, 128, shape, generator=g, dtype=torch.int8) for _ in range(3)]


@settings(max_examples=40)
@given(
    st.integers(0, 2**31), st.sampled_from([1, 2, 3]), st.integers(1, 2**15 - 1),
    st.integers(0, 24), st.sampled_from(["none", "polynomial", "table"]), st.floats(1e-3, 3.0),
)  # fmt: skip
def test_values(seed, heads, multiplier, shift, softmax, scale):
    q, k, v = operands(seed, 4, heads * 2)
    scores = [(max(1, multiplier >> h), shift) for h in range(heads)]
    exps = [distance_factor(scale * (h + 1) / 2) for h in range(heads)]
    exact = context_factor(scale)
    contexts = [(max(1, exact[0] >> (h if softmax != "none" else 16)), 29) for h in range(heads)]
    table = torch.stack([weight_table(scale * (h + 1)) for h in range(heads)])
    y = torch.ops.forge.int8_attention(
        q, k, v, table if softmax == "table" else None, heads=heads,
        score_multipliers=[m for m, _ in scores], score_shifts=[s for _, s in scores],
        context_multipliers=[m for m, _ in contexts], context_shifts=[s for _, s in contexts],
        softmax=softmax, exp_multipliers=[e.multiplier for e in exps],
        exp_shifts=[e.shift for e in exps],
    )  # fmt: skip
    for h in range(heads):
        rows = [x[:, 2 * h : 2 * h + 2].tolist() for x in (q, k, v)]
        weight = {
            "none": None,
            "table": lambda d, h=h: table[h][d].item(),
            "polynomial": lambda d, h=h: exponential(d, exps[h].multiplier, exps[h].shift, 7),
        }[softmax]
        want = attended(*rows, scores[h], contexts[h], weight)
        assert y[:, 2 * h : 2 * h + 2].tolist() == want


@pytest.mark.parametrize("method", ["table", "polynomial"])
@pytest.mark.parametrize("scale", [0.002, 0.04, 0.3])
def test_it_is_within_its_bound_of_attention_in_floating_point(method, scale):
    q, k, v = operands(3, 160, 16)
    step, out = 2.0**-11, 1.7
    factor, context = distance_factor(scale), context_factor(out)
    table = weight_table(scale)[None] if method == "table" else None
    y = torch.ops.forge.int8_attention(
        q, k, v, table, heads=1, score_multipliers=[1], score_shifts=[11], softmax=method,
        exp_multipliers=[factor.multiplier], exp_shifts=[factor.shift],
        context_multipliers=[context[0]], context_shifts=[context[1]],
    )  # fmt: skip
    wide = [x.double() for x in (q, k, v)]
    scores = (wide[0] @ wide[1].T * step).round().clamp(-128, 127)
    p = (scores * scale).softmax(-1)
    want = (p @ wide[2] * out).clamp(-128, 127)
    # Every weight is wrong by half a step of 7 bits and what the exponential is; so is their sum.
    wrong = 0.5 / 127 + (EXPONENTIAL_BOUND if method == "polynomial" else 0)
    total = ((scores - scores.amax(-1, keepdim=True)) * scale).exp().sum(-1, keepdim=True)
    share = (wrong + p * 160 * wrong) / (total - 160 * wrong)
    assert (total > 160 * wrong).all()
    bound = 0.5 + out * (share.clamp(max=1) @ wide[2].abs()) + 128 * 160 * 127 / 2**29
    assert ((y.double() - want).abs() <= bound).all()
    assert (y.double() - want).abs().mean() < 1.5


def test_equal_scores_give_the_mean_of_the_values():
    q, k, v = operands(5, 160, 16)
    context = context_factor(1.0)
    y = torch.ops.forge.int8_attention(
        torch.zeros_like(q), k, v, heads=1, score_multipliers=[1], score_shifts=[0],
        softmax="polynomial", exp_multipliers=[20000], exp_shifts=[5],
        context_multipliers=[context[0]], context_shifts=[context[1]],
    )  # fmt: skip
    want = v.double().mean(0)
    assert ((y.double() - want).abs() <= 0.501).all()


def test_keys_may_be_another_number_than_queries_and_batches_are_apart():
    q, _, _ = operands(1, 2, 3, 8)
    _, k, v = operands(2, 2, 5, 8)
    fields = {
        "heads": 2, "score_multipliers": [3, 5], "score_shifts": [9, 9],
        "context_multipliers": [3, 5], "context_shifts": [9, 9],
    }  # fmt: skip
    both = torch.ops.forge.int8_attention(q, k, v, **fields)
    for i in range(2):
        assert torch.equal(both[i], torch.ops.forge.int8_attention(q[i], k[i], v[i], **fields))


def test_schema_and_meta_kernel_agree_with_the_cpu_kernel():
    torch.library.opcheck(
        torch.ops.forge.int8_attention.default, tuple(operands(0, 4, 8)),
        {"heads": 1, "score_multipliers": [3], "score_shifts": [9], "context_multipliers": [3],
         "context_shifts": [9]},
        test_utils=("test_schema", "test_faketensor"),
    )  # fmt: skip


X = TensorType.of(DType.I8, (4, 8))
FIELDS = {
    "heads": 2, "score_multipliers": (1, 1), "score_shifts": (0, 0),
    "context_multipliers": (1, 1), "context_shifts": (0, 0),
}  # fmt: skip
RANGE = "expected 1 <= multiplier < 32768 and 0 <= shift <="


@pytest.mark.parametrize(
    ("fields", "operands", "message"),
    [
        ({}, (X, X, TensorType.of(DType.I8, (8,))), "v must be i8 with 2 axes or more, is i8[8]"),
        ({}, (X, TensorType.of(DType.I8, (4, 6)), X), "k is i8[4,6], q is i8[4,8]"),
        ({}, (X, X, TensorType.of(DType.I8, (3, 8))),
         "v is i8[3,8], expected the shape of k, i8[4,8]"),
        ({"heads": 3}, (X, X, X), "8 columns cannot be shared out among 3 heads"),
        ({"softmax": "exact"}, (X, X, X),
         "softmax is 'exact', expected one of none, table, polynomial"),
        ({"score_shifts": (0,)}, (X, X, X),
         "2 score_multipliers and 1 score_shifts for 2 heads"),
        ({"softmax": "polynomial"}, (X, X, X),
         "0 exp_multipliers and 0 exp_shifts for 2 heads"),
        ({"softmax": "polynomial", "exp_multipliers": (1, 1), "exp_shifts": (0, 32)}, (X, X, X),
         f"the exp factor of head 1 is 1 / 2**32, {RANGE} 31"),
        ({"context_multipliers": (1, 1 << 15)}, (X, X, X),
         f"the context factor of head 1 is 32768 / 2**0, {RANGE} 47"),
        ({"softmax": "table"}, (X, X, X), "the table is missing, expected i8[2,256]"),
    ],
)  # fmt: skip
def test_type_rule_refuses(fields, operands, message):
    with pytest.raises(VerificationError) as error:
        Int8Attention(**{**FIELDS, **fields}).infer(*operands)
    assert str(error.value) == message


def test_cost_counts_what_is_read_and_written():
    cost = Int8Attention(**FIELDS).cost(X, X, X)
    assert (cost.flops, cost.bytes_moved) == (2 * 16 * (16 + 2), 4 * 32)
