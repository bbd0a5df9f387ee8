"""Assertions on values of tensors run as part of the program.

PYTEST_DONT_REWRITE: torch.export knows an assertion by its bytecode.
"""

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.errors import CaptureError


class Lengths(nn.Module):
    def forward(self, x, lengths):
        assert lengths.max().item() <= x.shape[1]
        torch._check(lengths[:1].item() * 2 > 1)
        return x * 2


X = torch.ones(2, 4)


def test_a_true_assertion_changes_nothing():
    compiled = forge_ugc.compile(Lengths(), (X, torch.tensor([1, 4])))
    assert torch.equal(compiled(X, torch.tensor([2, 3])), X * 2)
    assert "aten._assert_async.msg" in compiled.result.instructions_by_opcode


def test_a_false_assertion_raises_with_the_line_of_the_model():
    compiled = forge_ugc.compile(Lengths(), (X, torch.tensor([1, 4])))
    with pytest.raises(RuntimeError, match="an assertion of the model does not hold: assert"):
        compiled(X, torch.tensor([2, 5]))
    with pytest.raises(RuntimeError, match="an assertion of the model does not hold"):
        compiled(X, torch.tensor([0, 3]))
    assert torch.equal(compiled(X, torch.tensor([2, 3])), X * 2)


def test_a_number_with_another_use_is_refused():
    class Net(nn.Module):
        def forward(self, x, n):
            return x * n.item()

    with pytest.raises(CaptureError, match="turns a tensor into a Python number"):
        forge_ugc.compile(Net(), (X, torch.tensor(2)))
