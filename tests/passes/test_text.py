"""The text form of graphs."""

import torch
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.passes.text import format_graph


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4, 3))
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, tokens, x=None):
        self.seen.add_(1)
        a, b = torch.split(tokens @ self.w, [1, 2], -1)
        return a.to(torch.float16), None, torch.cat([b, b], dim=1).mT.contiguous()


def test_every_kind_of_node(pin):
    pin("text", format_graph(capture(Net(), (torch.ones(2, 4),)).graph_module))


def test_names_do_not_depend_on_what_was_erased():
    first = capture(Net(), (torch.ones(2, 4),)).graph_module
    node = next(n for n in first.graph.nodes if n.op == "call_function")
    with first.graph.inserting_before(node):
        extra = first.graph.call_function(node.target, node.args, node.kwargs)
    first.graph.erase_node(extra)
    second = capture(Net(), (torch.ones(2, 4),)).graph_module
    assert format_graph(first) == format_graph(second)
