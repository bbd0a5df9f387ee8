"""Replacing nodes: types of users, views that stop being legal, dead code."""

import operator

import torch
from torch import fx

from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.passes.graph import aten, emit, infer_call
from forge_ugc.passes.replacing import erase_dead, replace


def graph_with_input(value):
    graph = fx.Graph()
    x = graph.placeholder("x")
    x.meta["type"] = type_of(value)
    return graph, x


def call(graph, target, *args, **kwargs):
    node = graph.call_function(target, args, kwargs)
    node.meta["type"] = infer_call(target, args, kwargs)
    return node


def targets(graph):
    return [str(n.target) for n in graph.nodes if n.op == "call_function"]


def test_types_of_users_follow_a_new_layout_and_stop_where_it_no_longer_shows():
    value = torch.randn(2, 3, 4)
    graph, x = graph_with_input(value)
    old = call(graph, aten.clone.default, x, memory_format=torch.contiguous_format)
    turned = call(graph, aten.transpose.int, old, 0, 1)
    flat = call(graph, aten.reshape.default, turned, [3, 8])
    last = call(graph, aten.relu.default, flat)
    graph.output((last,))
    first = call(graph, aten.transpose.int, x, 0, 1)
    new = emit(old, aten.transpose.int, [first, 0, 1], by="test")
    new.prepend(first)
    inner = emit(
        new, aten.clone.default, [first], {"memory_format": torch.contiguous_format}, by="t"
    )
    new.args = (inner, 0, 1)
    new.meta["type"] = infer_call(aten.transpose.int, new.args, {})
    before = last.meta["type"]
    replace(old, new)
    graph.lint()
    assert str(new.meta["type"]) == "f32[2,3,4]{4,8,1}"
    assert str(turned.meta["type"]) == "f32[3,2,4]"
    assert last.meta["type"] == before
    assert old not in list(graph.nodes)
    module = fx.GraphModule(torch.nn.Module(), graph)
    assert torch.equal(module(value)[0], value.transpose(0, 1).reshape(3, 8).relu())


def test_a_view_that_the_new_layout_forbids_becomes_a_reshape():
    value = torch.randn(2, 3)
    graph, x = graph_with_input(value)
    old = call(graph, aten.t.default, x)
    old = call(graph, aten.clone.default, old, memory_format=torch.contiguous_format)
    flat = call(graph, aten.view.default, old, [6])
    graph.output((flat,))
    new = emit(old, aten.t.default, [x], by="test")
    replace(old, new)
    assert targets(graph) == ["aten.t.default", "aten.reshape.default"]
    module = fx.GraphModule(torch.nn.Module(), graph)
    assert torch.equal(module(value)[0], value.t().reshape(6))


def test_results_of_several_are_typed_by_index():
    value = torch.randn(4, 6)
    graph, x = graph_with_input(value)
    old = call(graph, aten.clone.default, x, memory_format=torch.contiguous_format)
    parts = call(graph, aten.split.Tensor, old, 3, 1)

    part = graph.call_function(operator.getitem, (parts, 1))
    part.meta["type"] = parts.meta["type"][1]
    graph.output((part,))
    turned = emit(old, aten.t.default, [x], by="test")
    copied = emit(
        old, aten.clone.default, [turned], {"memory_format": torch.contiguous_format}, by="t"
    )
    replace(old, emit(old, aten.t.default, [copied], by="test"))
    assert str(part.meta["type"]) == "f32[4,3]{1,4}"


def test_dead_code_goes_upwards_but_random_numbers_stay():
    graph, x = graph_with_input(torch.randn(3))
    noise = call(graph, aten.rand_like.default, x)
    off = call(graph, aten.dropout.default, x, 0.5, False)
    used = call(graph, aten.relu.default, x)
    dead = call(graph, aten.add.Tensor, call(graph, aten.mul.Tensor, noise, off), used)
    graph.output((used,))
    erase_dead([dead])
    assert targets(graph) == ["aten.rand_like.default", "aten.relu.default"]
