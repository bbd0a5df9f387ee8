"""Work of PyTorch's operators by rule, of ours by their own `cost`."""

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.ops.core.cost import cost_of


def costs(function, *args):
    """Cost of every instruction by opcode, without any pass that changes the graph."""

    class Module(nn.Module):
        def forward(self, *given):
            return function(*given)

    options = forge_ugc.Options(passes=(), native=False)
    program = forge_ugc.compile(Module(), args, options=options).program
    types = program.types()
    return {i.opcode: cost_of(i, types) for i in program.instructions}


A, B = torch.randn(4, 8), torch.randn(8, 6)


@pytest.mark.parametrize(
    ("function", "args", "flops", "moved"),
    [
        (torch.mm, (A, B), 2 * 4 * 6 * 8, 4 * (32 + 48 + 24)),
        (torch.addmm, (torch.randn(6), A, B), 2 * 4 * 6 * 8, 4 * (6 + 32 + 48 + 24)),
        (torch.bmm, (torch.randn(3, 4, 8), torch.randn(3, 8, 2)), 2 * 3 * 4 * 2 * 8,
         4 * (96 + 48 + 24)),
        (lambda x: x + x, (A,), 32, 4 * (32 + 32)),
        (torch.exp, (A,), 32, 4 * 64),
        (lambda x: x.softmax(-1), (A,), 5 * 32, 4 * 64),
        (lambda x: x.sum(-1), (A,), 32, 4 * (32 + 4)),
        (lambda x: x.t().contiguous(), (A,), 0, 4 * 64),
        (nn.functional.embedding, (torch.tensor([1, 2]), torch.randn(100, 8)), 0, 16 + 2 * 64),
        (torch.conv2d, (torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3)), 2 * 4 * 36 * 27,
         4 * (192 + 108 + 144)),
    ],
    ids=["mm", "addmm", "bmm", "add", "exp", "softmax", "sum", "copy", "embedding", "conv2d"],
)  # fmt: skip
def test_an_operator_of_pytorch(function, args, flops, moved):
    found = [c for c in costs(function, *args).values() if c.bytes_moved]
    assert [(c.flops, c.bytes_moved) for c in found] == [(flops, moved)]


def test_an_operator_of_ours():
    module, x = nn.Linear(8, 6), torch.randn(4, 8)
    program = forge_ugc.compile(module, (x,)).program
    (instruction,) = program.instructions
    assert instruction.opcode == "linear"
    cost = cost_of(instruction, program.types())
    assert cost.flops >= 2 * 4 * 8 * 6
    assert cost.bytes_moved == 4 * (32 + 48 + 6 + 24)


def test_views_cost_nothing():
    assert set(costs(lambda x: x[1:3].t(), A).values()) == {forge_ugc.ops.Cost(0, 0)}
