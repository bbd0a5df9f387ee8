"""Random integer models."""

import numpy as np

from forge_ugc.aie import MHA, AIEModel, Dense, Pool, ReLU, ResAdd


def matrix(random, rows, columns):
    return random.integers(-127, 128, (rows, columns)).astype(np.int8)


def projections(random, width, columns=None):
    columns = columns or width
    parts = {part: matrix(random, width, columns) for part in ("query", "key", "value")}
    return {**parts, "output": matrix(random, columns, width)}


def tagger(seed=0, *, rows=8, width=8, heads=2, softmax="polynomial"):
    """A block with attention, residual sums, a feed-forward part, pooling and a classifier."""
    random = np.random.default_rng(seed)
    model = AIEModel(shape=(rows, 4), name="tagger", input_step=1 / 32)
    x = model.add_layer(Dense(weight=matrix(random, width, 4), name="embed", weight_step=1 / 64))
    a = model.add_layer(
        MHA(
            heads=heads, softmax=softmax, score_step=1 / 16, weight_step=1 / 128, name="attention",
            **projections(random, width),
        )
    )  # fmt: skip
    x = model.add_layer(ResAdd(name="after_attention"), inputs=[x, a])
    y = model.add_layer(Dense(weight=matrix(random, width, width), weight_step=1 / 128, name="up"))
    y = model.add_layer(ReLU())
    bias = random.integers(-5000, 5000, width).astype(np.int32)
    y = model.add_layer(
        Dense(weight=matrix(random, width, width), bias=bias, weight_step=1 / 128, name="down")
    )
    model.add_layer(ResAdd(name="after_feed_forward"), inputs=[x, y])
    model.add_layer(Pool(name="pool"))
    model.add_layer(Dense(weight=matrix(random, 5, width), name="classes"))
    return model


def jets(seed, model, count=2):
    random = np.random.default_rng(seed)
    return random.integers(-128, 128, (count, *model.input.shape)).astype(np.int8)
