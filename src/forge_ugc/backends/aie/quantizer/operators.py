"""Which operators of a float program the quantiser takes, and why it refuses others."""

from __future__ import annotations

VIEWS = frozenset({
    "alias", "chunk", "clone", "contiguous", "detach", "flatten", "permute", "reshape", "select",
    "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unflatten",
    "unsqueeze", "view", "_unsafe_view", "expand", "dropout", "lift_fresh_copy", "mT", "swapaxes",
    "movedim", "moveaxis",
})  # fmt: skip
"""Move elements, or leave them; a dropout that is switched off among them."""
LAYERS = frozenset({
    "linear", "matmul", "mm", "attention", "add", "relu", "mean", "amax", "max", "batch_norm",
    "softmax", "mul", "div",
})  # fmt: skip

_STATISTICS = (
    "its statistics change with every row, so it is no factor of an integer layer",
    "train the model without normalisation, or with BatchNorm, which becomes part of linear layers",
)
_ACTIVATION = (
    "of the activations the integer kernels have ReLU alone",
    "train the model with ReLU",
)
_REFUSED = {
    "layer_norm": _STATISTICS,
    "native_layer_norm": _STATISTICS,
    "rms_norm": _STATISTICS,
    "group_norm": _STATISTICS,
    "instance_norm": _STATISTICS,
    "gelu": _ACTIVATION,
    "silu": _ACTIVATION,
    "tanh": _ACTIVATION,
    "sigmoid": _ACTIVATION,
    "elu": _ACTIVATION,
    "leaky_relu": _ACTIVATION,
    "log_softmax": (
        "logarithms have no integer kernel",
        "return the scores, and take the logarithm of their softmax outside of the model",
    ),
}
_OTHER = (
    "it has no integer kernel",
    "use linear layers, attention, residual sums, ReLU, mean or maximum over rows and softmax",
)


def base_name(opcode: str) -> str:
    """`add` of `aten.add.Tensor`; the opcode of one of our own operators."""
    return opcode.split(".")[1] if "." in opcode else opcode


def refusal(opcode: str) -> tuple[str, str] | None:
    """(reason, remedy) if the quantiser does not take an operator, None if it may."""
    name = base_name(opcode).rstrip("_") if "." in opcode else opcode
    known = name in VIEWS or name in LAYERS or base_name(opcode) in VIEWS
    return None if known else _REFUSED.get(name, _OTHER)
