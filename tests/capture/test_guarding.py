"""The branch of a `cond` that is not taken does not raise."""

import pytest
import torch
from torch import nn

import forge_ugc


class Division(nn.Module):
    def forward(self, x, by):
        safe = lambda x, by: (x // by, x % by, torch.fmod(x, by))  # noqa: E731
        return torch.cond(by != 0, safe, lambda x, by: (x + 1, x + 2, x + 3), (x, by))


class Lookup(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 2)

    def forward(self, x, at):
        def outside(x, at):
            return self.table.weight[0] + x[0], x + 0

        def inside(x, at):
            row = self.table(at) + x.take(at)
            return row, torch.index_select(x, 0, at.view(1)).expand(4) + x.gather(0, at.view(1))

        return torch.cond(at > 3, outside, inside, (x, at))


class Nested(nn.Module):
    def forward(self, x, at):
        def known(x, at):
            late, early = lambda x, at: x.take(at) + 0, lambda x, at: x.take(at) * 2
            return torch.cond(at > 1, late, early, (x, at))

        return torch.cond(at < 4, known, lambda x, at: x.sum(), (x, at))


@pytest.mark.parametrize(
    ("module", "x", "values"),
    [
        (Division(), torch.tensor([7, -7, 4]), [2, 0, -3]),
        (Lookup(), torch.arange(4.0), [3, 99, 0]),
        (Nested(), torch.arange(4.0), [3, 1, 50]),
    ],
)
def test_values_that_only_the_other_branch_bears(module, x, values):
    compiled = forge_ugc.compile(module, (x, torch.tensor(values[0])))
    for value in values:
        with torch.no_grad():
            wanted = module(x, torch.tensor(value))
        torch.testing.assert_close(compiled(x, torch.tensor(value)), wanted, rtol=0, atol=0)
