"""A small transformer that names the origin of a jet from its particles."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from forge_ugc.loaders import random_weights
from forge_ugc.loaders.loaded import LoadedModel, Request

PARTICLES = 160
FEATURES = 8
_CLASSES = 5
_LAYERS = 2


class ParticleBlock(nn.Module):
    """x + attention(x), then that + linear(relu(linear(x))): f32[batch, particles, width].

    No normalisation, as in the published integer design.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block's result, of the shape of its input."""
        parts = (self.query(x), self.key(x), self.value(x))
        query, key, value = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in parts)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        result: torch.Tensor = x + self.down(torch.relu(self.up(x)))
        return result


class JetTagger(nn.Module):
    """Class scores f32[batch, 5] of jets f32[batch, 160, 8].

    The size is that of arXiv 2606.17500: width 64, blocks of four heads with a 64-wide ReLU
    feed-forward; ours has biases and floating-point numbers. The head takes the particles' mean.
    """

    def __init__(self, layers: int = _LAYERS, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Linear(FEATURES, width)
        self.blocks = nn.ModuleList(ParticleBlock(width, heads) for _ in range(layers))
        self.hidden, self.classes = nn.Linear(width, width), nn.Linear(width, _CLASSES)

    def forward(self, particles: torch.Tensor) -> torch.Tensor:
        """Scores before softmax."""
        x = self.embed(particles)
        for block in self.blocks:
            x = block(x)
        scores: torch.Tensor = self.classes(torch.relu(self.hidden(x.mean(1))))
        return scores


def load(request: Request) -> LoadedModel:
    """The tagger with seeded weights and a seeded jet; it always has 160 particles.

    Raises:
        OptionError: an attention implementation of transformers is asked for, or later weights.
    """
    request.refuse("shape jet-tagger", "attention", "lazy")
    with random_weights.weights(seed=request.seed, empty=request.empty):
        module = JetTagger(request.layers or _LAYERS).to(request.dtype or torch.float32)
    random = torch.Generator().manual_seed(request.seed)
    jet = torch.randn((1, PARTICLES, FEATURES), generator=random)
    count = sum(p.numel() for p in module.parameters())
    return LoadedModel(
        module=module.eval().requires_grad_(False),
        args=(jet.to(request.dtype or torch.float32),),
        description=f"JetTagger from shape jet-tagger, random (seed {request.seed}) weights: "
        f"{count / 1e3:,.1f} K parameters",
    )
