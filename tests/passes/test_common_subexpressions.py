"""Common subexpressions: what is equal, what only looks equal, what a caller could tell apart."""

import math

import pytest
import torch
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.options import Options
from forge_ugc.passes.base import build

CSE = "common-subexpressions"


class Repeats(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        a = (x @ self.w).sigmoid().transpose(0, 1)
        b = (x @ self.w).sigmoid().transpose(0, 1)
        return a * b + torch.softmax(x, dim=-1) - torch.softmax(x, -1)


def test_equal_chains_become_one(run_pass, pin):
    ran = run_pass(CSE, Repeats(), torch.randn(3, 3))
    pin("common_subexpressions.before", ran.before)
    pin("common_subexpressions.after", ran.after)
    assert ran.result.changed == 4


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, 1.0), (1, True), (0.0, -0.0), (2, 3)],
)
def test_numbers_differ_by_type_and_sign(run_pass, a, b):
    ran = run_pass(CSE, lambda x: (x * a).float() / (x * b).float(), torch.arange(1, 4))
    assert ran.calls().count("aten.mul.Tensor") == 2


def test_one_nan_is_the_same_number_as_another(run_pass):
    def net(x):
        return torch.where(torch.isnan(x + math.nan), x + float("nan"), 1.0)

    assert run_pass(CSE, net, torch.ones(3)).result.changed == 1


def test_keyword_arguments_and_dtypes_are_part_of_the_key(run_pass):
    def net(x):
        a = torch.sum(x, 0, dtype=torch.float64) - torch.sum(x, 0)
        b = nn.functional.gelu(x) - nn.functional.gelu(x, approximate="tanh")
        return a, b, torch.arange(3) + torch.arange(3, dtype=torch.int32)

    ran = run_pass(CSE, net, torch.randn(4, 3))
    assert ran.result.changed == 0


def test_a_default_written_out_is_the_default(run_pass):
    ran = run_pass(CSE, lambda x: torch.add(x, x, alpha=1) * (x + x), torch.randn(3))
    assert ran.result.changed == 1


def test_random_draws_are_never_merged():
    class Net(nn.Module):
        def forward(self, x):
            return torch.rand_like(x) - torch.rand_like(x), nn.functional.dropout(
                x, 0.5, True
            ) - nn.functional.dropout(x, 0.5, True)

    graph_module = capture(Net(), (torch.ones(8),)).graph_module
    assert build([CSE])[0].run(graph_module, Options()).changed == 0


def test_dropout_that_is_off_is_not_random(run_pass):
    drop = nn.functional.dropout
    ran = run_pass(
        CSE, lambda x: (x.exp() - drop(x, 0.5, False)) * drop(x, 0.5, False), torch.ones(8)
    )
    assert ran.result.changed == 1


def test_uninitialised_memory_is_never_merged(run_pass):
    def net(x):
        return torch.empty(3).copy_(x) + torch.empty(3).copy_(x)

    ran = run_pass(CSE, net, torch.randn(3))
    assert ran.calls().count("aten.empty.memory_format") == ran.before.count("aten.empty")


def test_two_results_of_equal_value_stay_two_memories(run_pass):
    ran = run_pass(CSE, lambda x: (x + 1, x + 1), torch.ones(3))
    assert ran.result.changed == 0
    [miss] = ran.result.near_misses
    assert miss.reason == "equal to add, but both are results that a caller may write to"


def test_results_seen_through_views_stay_two_memories(run_pass):
    ran = run_pass(CSE, lambda x: ((x + 1).t(), (x + 1)[0], x + 1), torch.ones(3, 3))
    assert ran.result.changed == 0
    assert len(ran.result.near_misses) == 2


def test_a_result_and_an_inner_value_may_be_one(run_pass):
    ran = run_pass(CSE, lambda x: (x + 1, (x + 1) * 2, (x + 1) * 3), torch.ones(3))
    assert ran.result.changed == 2


def test_an_inner_value_that_became_a_result_blocks_the_next_one(run_pass):
    ran = run_pass(CSE, lambda x: ((x + 1) * 2, x + 1, x + 1), torch.ones(3))
    assert ran.result.changed == 1
    assert len(ran.result.near_misses) == 1


def test_two_views_of_one_memory_may_be_one(run_pass):
    ran = run_pass(CSE, lambda x: (x.view(-1), x.view(-1) + 1, x.view(-1)), torch.ones(3, 2))
    assert ran.result.changed == 2


def test_reads_of_one_constant_become_one_and_of_equal_parameters_do_not(run_pass):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.ones(3))
            self.b = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.a + x * self.b

    module = Net()
    graph_module = capture(module, (torch.ones(3),)).graph_module
    graph = graph_module.graph
    read = graph.find_nodes(op="get_attr")[0]
    second = graph.create_node("get_attr", read.target)
    second.meta.update(read.meta)
    read.append(second)
    next(u for u in read.users).replace_input_with(read, second)
    ran = run_pass(CSE, module, torch.ones(3), graph_module=graph_module)
    assert ran.result.changed == 1
    assert ran.after.count("const") == 2


def test_computed_constants_of_equal_content_become_one(run_pass):
    def net(x):
        mask = torch.ones(4, 4).tril()
        other = torch.ones(4, 4).tril() * 2
        return x * mask + x * torch.ones(4, 4).tril(), x * other

    folded = run_pass("fold-constants", net, torch.randn(4, 4))
    assert folded.after.count("const") == 3
    ran = run_pass(CSE, net, torch.randn(4, 4), graph_module=folded.graph_module)
    assert ran.after.count("const") == 2
