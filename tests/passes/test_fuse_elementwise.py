"""Chains of elementwise operators become one."""

import pytest
import torch
import torch.nn.functional as F

import forge_ugc

G = torch.Generator().manual_seed(0)
X, Y, Z = (torch.randn(6, 8, generator=G) for _ in range(3))


def reasons(ran):
    return [m.reason for m in ran.result.near_misses]


def test_before_and_after(run_pass, pin):
    ran = run_pass("fuse-elementwise", lambda x, y, z: x + y * 0.246 - z.exp(), X, Y, Z)
    pin("fuse_elementwise.before", ran.before)
    pin("fuse_elementwise.after", ran.after)
    assert ran.rules == ["elementwise"]
    assert ran.result.details[0].what == ("sub -> elementwise (sub(add(a, mul(b, 0.246)), exp(c)))")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_every_step_keeps_its_rounding_and_type(run_pass, dtype):
    def chain(x, y):
        z = F.silu(x * 0.3 + y)
        return (z if dtype is torch.float32 else z.float()).clamp(-1, 1) * y + 2

    ran = run_pass("fuse-elementwise", chain, X.to(dtype), Y.to(dtype))
    assert ran.calls() == ["elementwise"]


def test_masks_and_casts(run_pass):
    ran = run_pass(
        "fuse-elementwise",
        lambda x, m: x.masked_fill((m.to(torch.bool) & (x > 0)).logical_not(), float("-inf")),
        X, (Y > 0).long(),
    )  # fmt: skip
    assert ran.calls() == ["elementwise"]


def test_a_single_operator_stays(run_pass):
    ran = run_pass("fuse-elementwise", lambda x, y: x + y, X, Y)
    assert ran.calls() == ["aten.add.Tensor"]
    assert not ran.result.changed


def test_a_value_that_is_returned_stays(run_pass):
    ran = run_pass("fuse-elementwise", lambda x, y: (m := x * 2, m + y), X, Y)
    assert ran.calls() == ["aten.mul.Tensor", "aten.add.Tensor"]
    assert reasons(ran) == ["mul is read by output too"]


def test_a_value_with_two_readers_outside_stays(run_pass):
    ran = run_pass("fuse-elementwise", lambda x, y: ((m := x * 2) @ y.t() + m.sum(), m + y), X, Y)
    assert "aten.mul.Tensor" in ran.calls()


def test_a_value_that_the_chain_reads_twice_is_computed_once(run_pass):
    ran = run_pass("fuse-elementwise", lambda x: (e := x.exp()) / (e + 1), X)
    assert ran.calls() == ["elementwise"]
    assert "div(exp(a), add(exp(a), 1))" in ran.after


def test_a_smaller_value_stays(run_pass):
    ran = run_pass("fuse-elementwise", lambda x, y: x + y.exp(), X, Y[0])
    assert ran.calls() == ["aten.exp.default", "aten.add.Tensor"]
    assert reasons(ran) == ["exp is f32[8], which would be computed for every element of f32[6,8]"]


def test_more_operands_than_letters_make_two_operators(run_pass):
    inputs = [torch.randn(4, generator=G) for _ in range(10)]
    ran = run_pass("fuse-elementwise", lambda *xs: sum(xs[1:], xs[0]), *inputs)
    assert ran.calls() == ["elementwise", "elementwise"]
    assert reasons(ran) == ["9 operands, at most 8 fit"]


def test_long_chains_are_cut(run_pass):
    def chain(x):
        for n in range(40):
            x = x + (n + 0.5) if n % 2 else x.sin()
        return x

    ran = run_pass("fuse-elementwise", chain, X)
    assert len(ran.calls()) > 1
    assert ran.calls().count("elementwise") == len(ran.calls())


def test_what_needs_other_types_stays(run_pass):
    ran = run_pass("fuse-elementwise", lambda x, y: x * 2 + y, X.double(), Y.double())
    assert ran.calls() == ["aten.mul.Tensor", "aten.add.Tensor"]


def test_copies_stay(run_pass):
    ran = run_pass("fuse-elementwise", lambda x: x.clone() + x, X)
    assert ran.calls() == ["aten.clone.default", "aten.add.Tensor"]


def test_random_numbers_stay(run_pass, as_module):
    torch.manual_seed(0)
    ran = run_pass("fuse-elementwise", lambda x: torch.rand_like(x).shape[0] * x + 1, X)
    assert "aten.rand_like.default" in ran.before


def test_it_is_a_tier_of_its_own(run_pass):
    ran = run_pass("fuse-elementwise", lambda x, y: x * 2 + y, X, Y, fusion_aggressiveness=0.5)
    assert not ran.result.changed


def test_a_transposed_chain_keeps_its_layout(run_pass):
    ran = run_pass("fuse-elementwise", lambda x: (x.t() * 2 + 1).relu(), X)
    assert ran.calls() == ["aten.t.default", "elementwise"]


def test_the_pipeline_settles(as_module):
    module = as_module(lambda x, y: F.gelu(x * 2 + y).sum(-1, keepdim=True) * y + x)
    compiled = forge_ugc.compile(module, (X, Y))
    torch.testing.assert_close(compiled(X, Y), module(X, Y))
    assert not compiled._executable.host_instructions.get("elementwise")
