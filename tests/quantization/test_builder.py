"""The builder of int8 programs: registers, steps and samples."""

import pytest
import torch

from forge_ugc.errors import QuantizationError
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.infer import infer
from forge_ugc.ops.core.interpreter import interpret
from forge_ugc.quantization.attention_factors import AttentionPlan
from forge_ugc.quantization.builder import Builder
from forge_ugc.quantization.dyadic import dyadic


def bytes_of(seed, *shape):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(-128, 128, shape, generator=g).to(torch.int8)


def test_samples_are_what_the_program_computes():
    x = bytes_of(0, 3, 4, 8)
    builder = Builder(name="p", where="one")
    value = builder.input("x", (4, 8), 0.5, x)
    y = builder.linear(value, bytes_of(1, 8, 8), None, weight_step=0.1, part="query")
    mixed = builder.attention(
        y, y, y, AttentionPlan(heads=2, softmax="table", score_steps=(0.1, 0.2))
    )
    total = builder.add(mixed, builder.relu(y))
    pooled = builder.pool(total, "mean")
    out = builder.softmax(pooled, "polynomial", 0.05, bits=8)
    program = builder.program("aie", [out])
    verify(program, infer)
    assert list(builder.tensors) == ["one.query.weight", "one.table"]
    for i in range(3):
        assert torch.equal(interpret(program, builder.tensors, [x[i]])[0], out.sample[i])


def test_steps():
    builder = Builder(name="p", where="one")
    x = builder.input("x", (4, 8), 0.5)
    y = builder.linear(x, bytes_of(1, 8, 8), None, weight_step=0.25, factor=dyadic(0.5))
    assert y.step == 0.25
    assert builder.add(x, y, factors=(dyadic(0.5), dyadic(0.25))).step == 1.0
    assert builder.pool(x, "mean", factor=dyadic(1.0)).step == 0.125
    assert builder.pool(x, "max", factor=dyadic(1.0)).step == 0.5
    assert builder.softmax(x, "table", None).step == 1 / 127


def test_a_sum_of_zeros_keeps_a_step():
    builder = Builder(name="p", where="one")
    x = builder.input("x", (4, 8), 0.5, torch.zeros(1, 4, 8, dtype=torch.int8))
    assert builder.add(x, x).step == 0.5


def test_a_factor_that_cannot_be_measured_is_refused():
    builder = Builder(name="p", where="one")
    x = builder.input("x", (4, 8), 0.5)
    with pytest.raises(
        QuantizationError, match="layer one has no factor, and there are no samples"
    ):
        builder.pool(x, "mean")
