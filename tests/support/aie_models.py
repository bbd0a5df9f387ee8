"""Integer models for tests of the aie target: the published jet tagger and random ones."""

import numpy as np

from forge_ugc.aie.layers import MHA, Dense, ResAdd
from forge_ugc.aie.model import AIEModel


def weights(rng, outputs, inputs):
    return rng.integers(-127, 128, (outputs, inputs), dtype=np.int8)


def bias(rng, outputs, on):
    return rng.integers(-5000, 5001, outputs, dtype=np.int32) if on else None


def block(model, rng, x, d, heads, number, *, with_bias, softmax):
    """Attention and a feed-forward pair, each with a residual sum."""
    parts = ("query", "key", "value", "output")
    mha = MHA(
        name=f"attention{number}", heads=heads, softmax=softmax,
        score_step=0.05 if softmax != "none" else None,
        **{part: weights(rng, d, d) for part in parts},
        **{f"{part}_bias": bias(rng, d, with_bias) for part in parts},
    )  # fmt: skip
    attention = model.add_layer(mha, inputs=[x])
    x = model.add_layer(ResAdd(name=f"sum{number}", scales=(0.83, 0.71)), inputs=[x, attention])
    up = model.add_layer(
        Dense(name=f"up{number}", weight=weights(rng, d, d), bias=bias(rng, d, with_bias),
              relu=True),
        inputs=[x],
    )  # fmt: skip
    down = model.add_layer(
        Dense(name=f"down{number}", weight=weights(rng, d, d), bias=bias(rng, d, with_bias),
              relu=True),
        inputs=[up],
    )  # fmt: skip
    return model.add_layer(ResAdd(name=f"sum{number}b", scales=(0.9, 0.64)), inputs=[x, down])


def jet_tagger(seed=0, *, heads=4, with_bias=False, softmax="none", rows=160, d=64, blocks=2):
    """The published jet tagger with random weights: 160 x 8, d 64, two blocks, 57 tiles."""
    rng = np.random.default_rng(seed)
    model = AIEModel(shape=(rows, 8), name="jet_tagger")
    x = model.add_layer(
        Dense(name="embed", weight=weights(rng, d, 8), bias=bias(rng, d, with_bias), relu=True)
    )
    for number in range(blocks):
        x = block(model, rng, x, d, heads, number, with_bias=with_bias, softmax=softmax)
    x = model.add_layer(
        Dense(name="hidden", weight=weights(rng, d, d), bias=bias(rng, d, with_bias), relu=True)
    )
    model.add_layer(Dense(name="classify", weight=weights(rng, 8, d), bias=bias(rng, 8, with_bias)))
    jets = rng.integers(-128, 128, (2, rows, 8), dtype=np.int8)
    model.calibrate(jets)
    return model, jets
