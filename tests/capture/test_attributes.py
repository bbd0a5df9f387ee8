"""Tensors kept from call to call in plain attributes are refused; tables and traces are not."""

import pytest
import torch
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.errors import CaptureError

X = torch.ones(3)


class Replaced(nn.Module):
    def __init__(self):
        super().__init__()
        self.sum = torch.zeros(3)

    def forward(self, x):
        self.sum = self.sum + x
        return self.sum


class Filled(nn.Module):
    def __init__(self):
        super().__init__()
        self.sum = {"keys": torch.zeros(3)}

    def forward(self, x):
        self.sum["keys"] = self.sum["keys"] + x
        return self.sum["keys"]


@pytest.mark.parametrize("inner", [Replaced(), Filled()])
def test_a_tensor_that_the_next_call_reads_is_refused(inner):
    with pytest.raises(CaptureError) as caught:
        capture(nn.Sequential(inner), (X,))
    assert str(caught.value) == (
        "the model keeps a tensor from call to call in its attribute 0.sum\n"
        "  why: a program has no attributes, the next call would not see it (state, mutation)\n"
        "  fix: register a buffer of fixed size, and write to it"
    )


class Table(nn.Module):
    """Computed once, of weights and sizes alone."""

    def __init__(self):
        super().__init__()
        self.scale, self.table = nn.Parameter(torch.ones(3)), torch.zeros(0)

    def forward(self, x):
        if len(self.table) < 3:
            self.table = torch.arange(3.0) * self.scale
        return x * self.table


class Shown(nn.Module):
    """Kept for whoever looks at the model later, set anew in each call."""

    def __init__(self):
        super().__init__()
        self.last, self.all = None, []

    def forward(self, x):
        self.all = []
        self.last = x * 2
        self.all.append(self.last)
        return self.last + 1


@pytest.mark.parametrize("module", [Table(), Shown()])
def test_tables_and_traces_leave_no_output_behind(module):
    captured = capture(module, (X,))
    assert len(captured.graph_module.graph.output_node().args[0]) == 1
    with torch.no_grad():
        captured.graph_module.recompile()
        torch.testing.assert_close(captured.graph_module(X)[0], module(X))
