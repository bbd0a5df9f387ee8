"""Tensors that a model writes down in its forward (`torch.tensor(0.5)`)."""

from __future__ import annotations

from torch.export.graph_signature import InputKind, InputSpec


def is_literal(spec: InputSpec) -> bool:
    """True if an input of an exported program holds a literal.

    torch.export calls it `lifted_tensor_0`, below the module that it was written down in.
    """
    name = str(spec.target).rpartition(".")[2]
    return spec.kind is InputKind.CONSTANT_TENSOR and name.startswith("lifted_tensor")
