"""In-place writes, states, aliases: cases in the manner of those reported to PyTorch and others."""

import pytest
import torch
import torch.nn.functional as F
from comparing import agrees
from torch import nn

import forge_ugc


def rand(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def diagonals(x):
    y = x.clone()
    y.diagonal().zero_()
    y.fill_diagonal_(3.0)
    y.t()[1] += 5
    return y


def out_arguments(x):
    whole, rows = torch.empty(4, 6), torch.empty(8, 6)
    torch.add(x, 1, out=whole)
    torch.exp(x, out=rows[::2])
    return whole, rows[::2]


def masks_and_indices(x):
    y = x.clone()
    i = torch.tensor([1, 3, 1])
    y[y > 0] = -1
    y[i] = 9
    y[:, i] += 1
    y[[0, 1]] = y[[1, 0]]
    return y.masked_fill_(y < -0.5, 2), y.index_put((i,), x[i], accumulate=True)


def pieces(x):
    a, b = x.clone().chunk(2, 1)
    a.mul_(2)
    b.copy_(a)
    joined = torch.cat((a, b), 1)
    a.zero_()
    view = x.clone().as_strided((2, 2), (7, 1), 1)
    view.add_(10)
    return a, b, joined, view


def inputs_are_written(x):
    x[1:3, ::2] = 7
    F.relu(x[0], inplace=True)
    x += torch.arange(6.0)
    return x.sum(), x[0]


def written_between_equal_expressions(x):
    y = x.clone()
    sums = [y.sum()]
    y[0, 0] = 100
    sums.append(y.sum())
    y.view(-1)[1] = -50
    a, b = torch.zeros(4, 6), torch.zeros(4, 6)
    a += x
    return (*sums, y.sum(), a, b, x.clone(), x.t() + 1, x.t() + 1.0)


def scattered(x):
    i = torch.tensor([[0, 2, 2, 1, 0, 3]])
    s = x[:1] * 2
    return (
        x.scatter(0, i, s),
        x.scatter_add(0, i, s),
        x.scatter_reduce(0, i, s, "prod", include_self=False),
        x.index_add(0, i[0, :3], x[:3], alpha=2),
        x.put(i[0], torch.ones(6), accumulate=True),
    )


@pytest.mark.parametrize(
    "function",
    [
        diagonals,
        out_arguments,
        masks_and_indices,
        pieces,
        inputs_are_written,
        written_between_equal_expressions,
        scattered,
    ],
)
def test_writes(function, tmp_path):
    agrees(Function(function), (rand(4, 6),), (rand(4, 6, seed=1),), tmp_path=tmp_path)


class Cache(nn.Module):
    """Attention over a cache; `write` puts one position in."""

    def __init__(self, write):
        super().__init__()
        self.write = write
        self.qkv = nn.Linear(16, 48)
        self.register_buffer("k", torch.zeros(1, 2, 8, 8))
        self.register_buffer("v", torch.zeros(1, 2, 8, 8))
        self.register_buffer("length", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        q, k, v = self.qkv(x).view(1, -1, 3, 2, 8).permute(2, 0, 3, 1, 4)
        self.write(self, k, v)
        self.length += 1
        mask = torch.where(torch.arange(8) < self.length, 0.0, float("-inf"))
        return F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=mask[None]), self.length


def by_index_copy(m, k, v):
    m.k.index_copy_(2, m.length.view(1), k)
    m.v.index_copy_(2, m.length.view(1), v)


def by_index(m, k, v):
    m.k[:, :, m.length.view(1)] = k
    m.v[:, :, m.length.view(1)] = v


def by_replacing(m, k, v):
    m.k = torch.cat((m.k[:, :, 1:], k), 2)
    m.v = torch.where(torch.arange(8)[:, None] == m.length, v, m.v)


def by_rolling(m, k, v):
    m.k.copy_(m.k.roll(-1, 2))
    m.k[:, :, -1:] = k
    m.v = torch.slice_scatter(m.v.roll(-1, 2), v, 2, 7)


@pytest.mark.parametrize("write", [by_index_copy, by_index, by_replacing, by_rolling])
def test_caches(write, tmp_path):
    torch.manual_seed(0)
    agrees(Cache(write), *((rand(1, 1, 16, seed=i),) for i in range(4)), tmp_path=tmp_path)


class Training(nn.Module):
    """Stays in train mode whatever its user says."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def eval(self):
        self.module.train()
        return self

    def forward(self, x):
        return self.module(x), self.module.num_batches_tracked * 1


class Observer(nn.Module):
    """Minimum and maximum so far, a flag, and a counter that decides."""

    def __init__(self):
        super().__init__()
        self.register_buffer("low", torch.tensor(float("inf")))
        self.register_buffer("flag", torch.tensor(False))
        self.register_buffer("calls", torch.tensor(0), persistent=False)

    def forward(self, x):
        self.low.copy_(torch.minimum(self.low, x.min()))
        picked = torch.where(self.flag, x, -x)
        self.flag.logical_not_()
        self.calls += 1
        return picked - self.low, torch.cond(self.calls > 1, lambda t: t * 2, lambda t: t + 5, (x,))


@pytest.mark.parametrize(
    "module", [Training(nn.BatchNorm1d(8)), Observer(), Training(nn.BatchNorm1d(8, momentum=0.3))]
)
def test_states(module, tmp_path):
    agrees(module, *((rand(3, 8, seed=i),) for i in range(3)), tmp_path=tmp_path)


def test_results_share_memory_as_in_eager():
    def function(x):
        y = x.softmax(-1)
        return y, y.view(-1), x.view(-1), x.clone(), y.float(), y[None].squeeze(0), x * 1, x[0:2]

    def sharing(model):
        x = rand(2, 6)
        memory = [t.untyped_storage().data_ptr() for t in (x, *model(x))]
        return [[a == b for a in memory] for b in memory]

    compiled = forge_ugc.compile(Function(function), (rand(2, 6),))
    assert sharing(compiled) == sharing(function)
