"""Small PyTorch models of what the target `aie` takes."""

import torch
from torch import nn


class Tagger(nn.Module):
    """A linear layer, attention with a sum, a feed-forward part with a sum, pooling, classes."""

    def __init__(self, features=6, width=16, heads=2, classes=3, pool="mean"):
        super().__init__()
        self.embed = nn.Linear(features, width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)
        self.classes, self.pool = nn.Linear(width, classes), pool

    def forward(self, x):
        x = self.embed(x)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = x + self.down(torch.relu(self.up(x)))
        return self.classes(x.mean(1) if self.pool == "mean" else x.amax(1))


class Written(nn.Module):
    """Attention written by hand from one wide linear layer."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 48), nn.Linear(16, 5)

    def forward(self, x):
        jets, rows, _ = x.shape
        parts = self.qkv(x).chunk(3, -1)
        q, k, v = (p.view(jets, rows, 2, 8).transpose(1, 2) for p in parts)
        weights = (q @ k.transpose(-1, -2) / 8**0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(jets, rows, 16))


class Normalised(nn.Module):
    """BatchNorm behind a linear layer, and in front of one."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(6, 8), nn.BatchNorm1d(8)
        self.before, self.last = nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x).transpose(1, 2)))
        return self.last(self.before(x).transpose(1, 2)).amax(1)


def with_statistics(module, *shape, seed=0):
    """The module in eval mode, its BatchNorms with statistics and weights that are not trivial."""
    torch.manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d):
            nn.init.uniform_(part.weight, 0.5, 2.0)
            nn.init.normal_(part.bias)
    module.train()
    for _ in range(3):
        module(torch.randn(*shape) * 2 + 1)
    return module.eval()
