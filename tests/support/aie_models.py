"""Integer models for tests of the aie target: the published jet tagger and random ones."""

import numpy as np
from hypothesis import strategies as st

from forge_ugc.aie.layers import MHA, Dense, Pool, ReLU, ResAdd, Softmax
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


SCALES = (None, None, 1.0, 0.5, 0.25, 2.0**-7, 3e-3)
"""Measured; whole, half and quarter steps, which make ties of small sums; saturating or not."""


def _dense(rng, draw, columns):
    outputs = draw(st.integers(1, 40))
    largest = draw(st.sampled_from((1, 3, 127)))
    return Dense(
        weight=rng.integers(-largest, largest + 1, (outputs, columns), dtype=np.int8),
        bias=bias(rng, outputs, draw(st.booleans())), relu=draw(st.booleans()),
        scale=draw(st.sampled_from(SCALES)),
    )  # fmt: skip


def _mha(rng, draw, columns):
    heads, size = draw(st.integers(1, 5)), draw(st.integers(1, 18))
    softmax = draw(st.sampled_from(("none", "table", "polynomial")))
    width, outputs = heads * size, draw(st.integers(1, 24))
    with_bias = draw(st.booleans())
    return MHA(
        heads=heads, softmax=softmax, output=weights(rng, outputs, width),
        score_step=None if softmax == "none" else draw(st.sampled_from((1e-3, 0.03, 0.2, 2.0))),
        relu=draw(st.booleans()),
        **{part: weights(rng, width, columns) for part in ("query", "key", "value")},
        **{f"{part}_bias": bias(rng, width, with_bias) for part in ("query", "key", "value")},
        output_bias=bias(rng, outputs, with_bias),
    )  # fmt: skip


@st.composite
def random_model(draw):
    """(model, jets): one to four layers, perhaps with a residual sum, pooling or softmax."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.integers(1, 26)), draw(st.integers(1, 20))
    model = AIEModel(shape=(rows, columns))
    x = model.input
    for _ in range(draw(st.integers(1, 3))):
        make = draw(st.sampled_from((_dense, _dense, _mha)))
        x = model.add_layer(make(rng, draw, x.shape[1]), inputs=[x])
    ending = draw(st.sampled_from(("none", "sum", "relu", "pool", "softmax")))
    if ending in ("sum", "relu"):
        side = ReLU() if ending == "relu" else _dense(rng, draw, x.shape[1])
        y = model.add_layer(side, inputs=[x])
        if y.shape == x.shape:
            scales = draw(st.sampled_from(((0.5, 0.5), (1.0, 2.0), (0.7, 0.4))))
            model.add_layer(ResAdd(scales=scales, relu=draw(st.booleans())), inputs=[x, y])
    elif ending == "pool":
        x = model.add_layer(Pool(reduce=draw(st.sampled_from(("mean", "max")))), inputs=[x])
        model.add_layer(_dense(rng, draw, x.shape[1]), inputs=[x])
    elif ending == "softmax":
        model.add_layer(Softmax(method=draw(st.sampled_from(("table", "polynomial"))),
                                score_step=0.05), inputs=[x])  # fmt: skip
    jets = rng.integers(-128, 128, (2, rows, columns), dtype=np.int8)
    if draw(st.booleans()):
        jets[1] = np.where(jets[1] < 0, -128, 127)
    return model, jets


def random_models(count):
    """Lists of `count` models with jets."""
    return st.lists(random_model(), min_size=count, max_size=count)
