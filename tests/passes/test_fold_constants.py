"""Constant folding: what is evaluated, what is too large, which arithmetic does nothing."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from forge_ugc.capture import capture
from forge_ugc.options import Options
from forge_ugc.passes.base import build
from forge_ugc.passes.core import evaluation
from forge_ugc.passes.graph import aten

FOLD = "fold-constants"
MIB = 1024 * 1024


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 8))
        self.scale = nn.Parameter(torch.full((1,), 3.0))

    def forward(self, x):
        mask = torch.arange(4)[:, None] >= torch.arange(4)[None, :]
        table = (torch.arange(4).float() / 10000 ** (torch.arange(4) / 4)).cos()
        scores = (x @ self.w.t() * table).masked_fill(~mask, float("-inf"))
        return scores.softmax(-1) * 1.0, self.scale * 2 + x.sum()


def test_masks_tables_and_transposed_weights_become_constants(run_pass, pin):
    ran = run_pass(FOLD, Masked(), torch.randn(4, 8))
    pin("fold_constants.before", ran.before)
    pin("fold_constants.after", ran.after)
    weight = next(v for k, v in vars(ran.graph_module).items() if k == "folded_t")
    assert weight.stride() == (1, 8)
    assert weight.data_ptr() == ran.graph_module.w.data_ptr()


def test_a_second_run_changes_nothing(run_pass):
    module, x = Masked(), torch.randn(4, 8)
    first = run_pass(FOLD, module, x)
    assert run_pass(FOLD, module, x, graph_module=first.graph_module).result.changed == 0


def test_exact_strides_of_a_folded_value(run_pass):
    def net(x):
        return x * torch.arange(6.0).view(2, 3).t().expand(4, 3, 2)

    ran = run_pass(FOLD, net, torch.randn(4, 3, 2))
    assert "folded_expand : f32[4,3,2]{0,1,3}" in ran.after


def test_a_small_part_of_a_large_value_does_not_keep_the_large_one(run_pass):
    ran = run_pass(FOLD, lambda x: x + torch.arange(100000.0)[5:8], torch.randn(3))
    [constant] = [v for k, v in vars(ran.graph_module).items() if k.startswith("folded")]
    assert constant.untyped_storage().nbytes() == 12


def test_random_values_are_not_constants(run_pass):
    graph_module = capture(
        nn.Dropout(0.5).train(), (torch.ones(8),)
    ).graph_module  # eager and graph draw different numbers: only the structure is compared
    assert build([FOLD])[0].run(graph_module, Options()).changed == 0

    class Noise(nn.Module):
        def forward(self, x):
            return x + torch.rand(3) * 2

    graph_module = capture(Noise(), (torch.ones(3),)).graph_module
    assert build([FOLD])[0].run(graph_module, Options()).changed == 0


def test_states_are_not_constants():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n.add_(1)
            return x + self.n * 2

    graph_module = capture(Counter(), (torch.ones(1),)).graph_module
    assert build([FOLD])[0].run(graph_module, Options()).changed == 0


def test_meta_tensors_are_never_evaluated():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.empty(3, 3, device="meta"))

        def forward(self, x):
            return x @ (self.w.t() * 2)

    graph_module = capture(Net(), (torch.empty(2, 3, device="meta"),)).graph_module
    result = build([FOLD])[0].run(graph_module, Options())
    assert result.changed == 0


def test_a_value_over_the_limit_stays_a_call(run_pass):
    ran = run_pass(
        FOLD, lambda x: x + torch.ones(64).cumsum(0), torch.randn(64), fold_limit_bytes=255
    )
    assert ran.calls() == ["aten.ones.default", "aten.cumsum.default", "aten.add.Tensor"]
    reasons = [m.reason for m in ran.result.near_misses if m.node == "cumsum"]
    assert reasons == [
        "its value takes 256 bytes, the limit is 255 and the constants it would replace take 0"
    ]
    at_limit = run_pass(
        FOLD, lambda x: x + torch.ones(64).cumsum(0), torch.randn(64), fold_limit_bytes=256
    )
    assert at_limit.calls() == ["aten.add.Tensor"]


class Weighted(nn.Module):
    def __init__(self, widen, share):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8).half() if widen else torch.randn(8, 8))
        self.widen, self.share = widen, share

    def forward(self, x):
        w = self.w.float() if self.widen else self.w.t().contiguous() * 2
        return x @ w + (self.w.sum(0).float() * x if self.share else 0)


def test_a_large_value_may_replace_a_constant_as_large(run_pass):
    ran = run_pass(FOLD, Weighted(False, False), torch.randn(8, 8), fold_limit_bytes=16)
    assert ran.after.count("const") == 1
    assert "aten.mul.Tensor" not in ran.calls()


def test_a_large_value_may_not_replace_a_smaller_constant(run_pass):
    ran = run_pass(FOLD, Weighted(True, False), torch.randn(8, 8), fold_limit_bytes=16)
    assert ran.calls()[0] == "aten.to.dtype"


def test_a_large_value_may_not_stand_beside_the_constant_that_lives_on(run_pass):
    module = Weighted(False, False)
    module.forward = lambda x: x @ (module.w * 2) + module.w * x
    ran = run_pass(FOLD, module, torch.randn(8, 8), fold_limit_bytes=16)
    assert ran.calls().count("aten.mul.Tensor") == 2


class HugeOnTheWay(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.full((1,), 0.5))

    def forward(self, x):
        bias = torch.ones(16, 1024, 64) * self.scale
        return x + bias[:, -1, -1].sum() / 16


def test_a_large_intermediate_on_the_way_to_a_small_value_is_evaluated(run_pass):
    ran = run_pass(FOLD, HugeOnTheWay(), torch.randn(4), fold_limit_bytes=1024)
    assert ran.calls() == ["aten.add.Tensor"]
    assert "folded_div : f32[]" in ran.after


def test_intermediates_have_a_limit_too(run_pass, monkeypatch):
    monkeypatch.setattr(evaluation, "LIVE_LIMIT_BYTES", MIB)
    ran = run_pass(FOLD, HugeOnTheWay(), torch.randn(4), fold_limit_bytes=1024)
    assert "aten.ones.default" in ran.calls()
    assert any("holds more than" in m.reason for m in ran.result.near_misses)


def test_an_operator_that_refuses_its_constants_is_kept_for_run_time():
    class Net(nn.Module):
        def forward(self, x):
            return x + torch.arange(3)[torch.tensor([0, 7, 1])]

    graph_module = capture(Net(), (torch.ones(3),)).graph_module
    result = build([FOLD])[0].run(graph_module, Options())
    assert any("refuses to run it" in m.reason for m in result.near_misses)
    with pytest.raises(IndexError):
        torch.fx.Interpreter(graph_module).run(torch.ones(3))


def test_a_computed_result_is_made_afresh_in_every_call(run_pass):
    def net(x):
        table = torch.arange(4.0).cos()
        return table, table.view(2, 2), x + 1

    ran = run_pass(FOLD, net, torch.ones(1))
    assert ran.calls() == ["aten.clone.default", "aten.view.default", "aten.add.Tensor"]
    first = ran.graph_module
    first.recompile()
    with torch.no_grad():
        first(torch.ones(1))[0].zero_()
        assert torch.equal(first(torch.ones(1))[0], torch.arange(4.0).cos())


def test_a_parameter_among_the_results_stays_the_parameter(run_pass):
    module = nn.Linear(2, 2)
    module.forward = lambda x: (module.weight, module.weight.t(), x + 1)
    graph_module = capture(module, (torch.ones(2),)).graph_module
    build([FOLD])[0].run(graph_module, Options())
    outputs = torch.fx.Interpreter(graph_module).run(torch.ones(2))
    pointer = module.weight.data_ptr()
    assert [o.data_ptr() == pointer for o in outputs] == [True, True, False]


def test_uninitialised_memory_is_not_stored(run_pass):
    class Net(nn.Module):
        def forward(self, x):
            return torch.empty_like(x), torch.zeros(3).fill_(2.0) + x

    graph_module = capture(Net(), (torch.ones(3),)).graph_module
    build([FOLD])[0].run(graph_module, Options())
    targets = {n.target for n in graph_module.graph.nodes if n.op == "call_function"}
    assert targets == {aten.empty_like.default, aten.add.Tensor}


def test_custom_operators_are_not_folded():
    library = torch.library.Library("forge_test_fold", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x + torch.ops.forge_test_fold.twice(self.w)

    graph_module = capture(Net(), (torch.ones(3),)).graph_module
    assert build([FOLD])[0].run(graph_module, Options()).changed == 0


VALUES = torch.tensor([-0.0, 0.0, float("nan"), float("inf"), -float("inf"), 1.5, -2.0])
INTS = torch.tensor([-3, 0, 7, 2**62])
FLAGS = torch.tensor([True, False])

NEUTRAL = {
    "times one": (lambda x: x * 1, VALUES),
    "one times": (lambda x: 1.0 * x, VALUES),
    "over one": (lambda x: x / 1, VALUES),
    "minus zero": (lambda x: x - 0.0, VALUES),
    "plus negative zero": (lambda x: x + -0.0, VALUES),
    "first power": (lambda x: x**1, VALUES),
    "integer plus zero": (lambda x: x + 0, INTS),
    "zero plus integer": (lambda x: 0 + x, INTS),
    "integer times one": (lambda x: x * 1, INTS),
    "integer over one": (lambda x: x // 1, INTS),
    "bool or false": (lambda x: x | False, FLAGS),
    "bool and true": (lambda x: x & True, FLAGS),
    "constant one": (lambda x: x * torch.ones(1), VALUES),
    "same dtype": (lambda x: x.to(torch.float32), VALUES),
    "same view": (lambda x: x.view(7), VALUES),
    "same reshape": (lambda x: x.reshape(7), VALUES),
    "same expand": (lambda x: x.expand(7), VALUES),
    "whole slice": (lambda x: x[0:7], VALUES),
    "detach": (lambda x: x.detach(), VALUES),
    "contiguous": (lambda x: x.contiguous(), VALUES),
    "clone": (lambda x: x.clone(), VALUES),
    "same permutation": (lambda x: x.permute(0), VALUES),
    "dropout off": (lambda x: functional.dropout(x, 0.5, False), VALUES),
    "dropout of nothing": (lambda x: functional.dropout(x, 0.0, True), VALUES),
    "type as": (lambda x: x.type_as(torch.ones(1)), VALUES),
    "repeat once": (lambda x: x.repeat(1), VALUES),
    "written over": (lambda x: torch.zeros(7).copy_(x), VALUES),
    "written over by a slice": (lambda x: torch.slice_scatter(torch.zeros(7), x), VALUES),
    "cat of one": (lambda x: torch.cat([x]), VALUES),
    "there and back": (lambda x: x.double().float(), VALUES),
    "half there and back": (lambda x: x.float().half(), VALUES.half()),
    "integers through floats": (lambda x: x.float().to(torch.int8), INTS.to(torch.int8)),
}


@pytest.mark.parametrize("name", NEUTRAL)
def test_arithmetic_that_does_nothing_goes(run_pass, name):
    function, x = NEUTRAL[name]
    ran = run_pass(FOLD, lambda x: torch.flip(function(x), [0]), x)
    assert ran.calls() == ["aten.flip.default"]


WORKS = {
    "plus zero turns -0.0": (lambda x: x + 0.0, VALUES),
    "plus integer zero turns -0.0": (lambda x: x + 0, VALUES),
    "minus negative zero turns -0.0": (lambda x: x - -0.0, VALUES),
    "zero minus": (lambda x: 0 - x, VALUES),
    "integer times float": (lambda x: x * 1.0, INTS),
    "integer over one is float": (lambda x: x / 1, INTS),
    "floor of float": (lambda x: x // 1, VALUES[3:]),
    "bool plus zero is integer": (lambda x: x + 0, FLAGS),
    "bool times integer one": (lambda x: x * 1, FLAGS),
    "promotion by a constant": (lambda x: x * torch.ones(1, dtype=torch.float64), VALUES),
    "broadcast by a constant": (lambda x: x * torch.ones(1, 1), VALUES),
    "one to the power": (lambda x: 1**x, VALUES),
    "bfloat16 there and back": (lambda x: (x * 1.01).bfloat16().float(), VALUES),
    "half there and back loses": (lambda x: (x * 1.01).half().float(), VALUES),
    "integers through float": (lambda x: x.float().long(), INTS),
    "floats through integers": (lambda x: x.double().long(), VALUES[5:]),
    "partial slice": (lambda x: x[1:], VALUES),
    "square transposed": (lambda x: x.view(2, 2).t(), INTS),
    "complex times one": (
        lambda x: torch.view_as_real(torch.view_as_complex(x) * 1),
        VALUES[:6].view(3, 2),
    ),
    "written over in part": (lambda x: torch.slice_scatter(torch.zeros(9), x, 0, 2), VALUES),
    "written over and converted": (lambda x: (x.double() + 1).copy_(x), VALUES),
    "pending conjugation": (
        lambda x: torch.view_as_real(torch.view_as_complex(x).conj().resolve_conj()),
        VALUES[:6].view(3, 2),
    ),
    "copy of a pending conjugation": (
        lambda x: torch.view_as_real(torch.view_as_complex(x).conj().clone() * 2),
        VALUES[:6].view(3, 2),
    ),
    "expanded copies": (lambda x: x.expand(3, 7).clone(), VALUES),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKS)
def test_arithmetic_that_only_looks_neutral_stays(run_pass, as_module, name):
    function, x = WORKS[name]
    graph_module = capture(as_module(function), (x,)).graph_module
    plain = len([n for n in graph_module.graph.nodes if n.op == "call_function"])
    ran = run_pass(FOLD, function, x)
    folded = sum("folded" in line for line in ran.after.splitlines() if "const" in line)
    assert len(ran.calls()) >= plain - folded


COPIES = {
    "times one": lambda x: (x * 1.0,),
    "clone": lambda x: (x.clone(),),
    "clone of a result": lambda x: (lambda y: (y, y.clone()))(x + 1),
    "cast there and back": lambda x: (x.double().float(),),
    "a view of a copy": lambda x: (x.clone().view(-1), x),
    "two copies": lambda x: (x * 1.0, x / 1.0, x),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_result_that_eager_copies_stays_a_copy(run_pass, name):
    run_pass(FOLD, COPIES[name], torch.randn(2, 3))


SHARES = {
    "same dtype": lambda x: (x.to(torch.float32), x + 1),
    "contiguous": lambda x: (x.contiguous(), x + 1),
    "views of a result": lambda x: (lambda y: (y, y.view(2, 3), y.reshape(6)))(x + 1),
    "dropout off": lambda x: (functional.dropout(x, 0.1, False), x),
}


@pytest.mark.parametrize("name", SHARES)
def test_a_result_that_eager_shares_stays_shared(run_pass, name):
    run_pass(FOLD, SHARES[name], torch.randn(2, 3))


def test_a_copy_that_nobody_sees_goes(run_pass):
    ran = run_pass(FOLD, lambda x: (x.clone() + 1, (x * 1.0).clone().t() * 2), torch.ones(2, 3))
    assert ran.calls() == ["aten.add.Tensor", "aten.t.default", "aten.mul.Tensor"]


def test_a_copy_of_an_inner_value_may_be_the_result(run_pass):
    ran = run_pass(FOLD, lambda x: (x + 1).clone() * 1.0, torch.ones(3))
    assert ran.calls() == ["aten.add.Tensor"]
