"""Device constants: arguments, copies and constants come to the cpu."""

import torch
from torch import fx, nn

from forge_ugc.capture import capture
from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.options import Options
from forge_ugc.passes.base import build
from forge_ugc.passes.graph import aten, tensor_type

NAME = "device-constants"


def recorded_on(device, module, *inputs):
    """The captured graph as it would be if the model had been captured on another device."""
    graph_module = capture(module, inputs).graph_module
    for node in graph_module.graph.nodes:
        swap = lambda v: torch.device(device) if isinstance(v, torch.device) else v  # noqa: E731
        node.args = tuple(swap(a) for a in node.args)
        node.kwargs = {k: swap(v) for k, v in node.kwargs.items()}
    return graph_module


class Factories(nn.Module):
    def forward(self, x):
        ids = torch.arange(3, device=x.device, pin_memory=False)
        return x.to(x.device) + ids, torch.zeros_like(x) * x.to("cpu", torch.float64)


def test_arguments_come_to_the_cpu_and_copies_vanish(run_pass, pin):
    x = torch.randn(2, 3)
    graph_module = recorded_on("cuda", Factories(), x)
    ran = run_pass(NAME, Factories(), x, graph_module=graph_module)
    pin("device_constants.before", ran.before)
    pin("device_constants.after", ran.after)
    assert "cuda" in ran.before
    assert "cuda" not in ran.after


def test_a_graph_on_the_cpu_stays_as_it_is(run_pass):
    ran = run_pass(NAME, lambda x: torch.arange(3) + x, torch.randn(3))
    assert ran.result.changed == 0


X = type_of(torch.ones(3))


def call(target, *args, kind=X, **kwargs):
    """A graph that calls an operator on an f32[3] input and returns the result."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    x.meta["type"] = X
    node = graph.call_function(target, (x, *args), kwargs)
    node.meta["type"] = kind
    graph.output((node,))
    return fx.GraphModule(nn.Module(), graph)


def outcome(graph_module):
    build([NAME])[0].run(graph_module, Options())
    value = graph_module.graph.output_node().args[0][0]
    return value.target if value.op == "call_function" else value.op


def test_a_copy_to_a_device_with_a_cast_becomes_the_cast():
    half = X.with_dtype(DType.F16)
    graph_module = call(aten.to.device, torch.device("cpu"), torch.float16, kind=half)
    assert outcome(graph_module) is aten.to.dtype
    value = graph_module.graph.output_node().args[0][0]
    assert str(tensor_type(value)) == "f16[3]"


def test_a_copy_to_where_the_tensor_is_returns_the_tensor_as_eager_does():
    assert outcome(call(aten.to.dtype_layout, device=torch.device("cuda"))) == "placeholder"
    assert outcome(call(aten.cpu.default)) == "placeholder"


def test_a_forced_copy_that_the_caller_gets_stays_a_copy():
    graph_module = call(aten.to.device, torch.device("cuda"), torch.float32, False, True)
    assert outcome(graph_module) is aten.clone.default


def test_a_cast_without_a_device_is_left_alone():
    graph_module = call(aten.to.dtype, torch.float64, kind=X.with_dtype(DType.F64))
    assert build([NAME])[0].run(graph_module, Options()).changed == 0


def test_pinned_memory_becomes_ordinary_memory():
    graph_module = call(aten.zeros_like.default, pin_memory=True)
    assert outcome(graph_module) is aten.zeros_like.default
    assert graph_module.graph.output_node().args[0][0].kwargs == {"pin_memory": False}


def test_meta_constants_have_no_data_and_stay():
    module = nn.Linear(3, 2, device="meta")
    graph_module = capture(module, (torch.zeros(1, 3, device="meta"),)).graph_module
    assert build([NAME])[0].run(graph_module, Options()).changed == 0
    assert graph_module.weight.device.type == "meta"
