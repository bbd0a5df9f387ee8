"""Writes to buffers that share memory are seen through each of their names and views."""

import copy

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.errors import CaptureError


class Views(nn.Module):
    """`rows` and `turned` are views of `whole`, `again` is `whole` under another name."""

    def __init__(self):
        super().__init__()
        whole = torch.zeros(4, 3)
        self.register_buffer("rows", whole[1:3])
        self.register_buffer("turned", whole.t())
        self.register_buffer("whole", whole)
        self.register_buffer("again", whole)

    def forward(self, x):
        self.whole[1:] += 1
        self.rows.add_(x)
        total = self.again.sum(0)
        self.turned[0] = 5
        return total, self.whole.sum(0), self.rows * 2, self.again @ self.turned


def counting():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    one = Counting()
    return nn.Sequential(one, nn.Identity(), one)


def shared_statistics():
    module = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3))
    module[1].running_mean = module[0].running_mean
    return module.train()


@pytest.mark.parametrize("make", [Views, counting, shared_statistics])
def test_a_write_is_seen_through_every_name(make):
    eager = make()
    compiled = forge_ugc.compile(copy.deepcopy(eager), (torch.ones(2, 3),))
    for step in range(3):
        x = torch.arange(6.0).view(2, 3) + step
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), eager(x))


def test_buffers_that_overlap_in_part_are_refused():
    class Overlapping(nn.Module):
        def __init__(self):
            super().__init__()
            memory = torch.zeros(4)
            self.register_buffer("a", memory[:3])
            self.register_buffer("b", memory[1:])

        def forward(self, x):
            self.b.add_(x)
            return self.a + x

    with pytest.raises(CaptureError, match="shares memory with other buffers"):
        forge_ugc.compile(Overlapping(), (torch.ones(3),))
