"""Constants in another type, each converted once however many operators read it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import fx

from forge_ugc.ops.quantize_rows import QuantizeRows
from forge_ugc.passes.graph import add_constant, constant_of

_CHUNK_ELEMENTS = 1 << 22
_Convert = Callable[[torch.Tensor], tuple[torch.Tensor, ...]]
_Key = tuple[int, int, torch.Size, tuple[int, ...], torch.dtype, str]


class Constants:
    """Converts the constants of one graph one after the other.

    Tied weights are one constant by storage, and stay one. The graph drops the old one when nothing
    reads it any more; its memory goes unless the user's module holds it.
    """

    def __init__(self, graph: fx.Graph) -> None:
        self._known: dict[_Key, tuple[fx.Node, ...]] = {}
        self._first = next(iter(graph.nodes))

    def bf16(self, node: fx.Node) -> fx.Node:
        """The constant rounded to bf16, in the same layout."""
        return self._made(node, "bf16", lambda value: (value.to(torch.bfloat16),))[0]

    def int8(self, node: fx.Node) -> tuple[fx.Node, fx.Node]:
        """The weight [out, in] as i8, row-major, and the f32 scale of each row."""
        weight, scale = self._made(node, "int8", quantized)
        return weight, scale

    def _made(self, node: fx.Node, form: str, convert: _Convert) -> tuple[fx.Node, ...]:
        value = constant_of(node)
        assert value is not None  # noqa: S101 - callers look first
        storage, start = value.untyped_storage()._cdata, int(value.storage_offset())
        key = (storage, start, value.shape, value.stride(), value.dtype, form)
        if key not in self._known:
            made = convert(value.detach())
            suffixes = (form, "scale")
            self._known[key] = tuple(
                self._constant(node, tensor, suffix)
                for tensor, suffix in zip(made, suffixes, strict=False)
            )
        return self._known[key]

    def _constant(self, node: fx.Node, value: torch.Tensor, suffix: str) -> fx.Node:
        constant = add_constant(self._first, f"{node.target}_{suffix}", value)
        name = str(node.meta.get("fqn", node.target))
        constant.meta["fqn"] = f"{name}.scale" if suffix == "scale" else name
        constant.meta["origin"] = "precision"
        return constant


def quantized(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(i8[out, in], f32[out]) of a weight, as `quantize_rows` makes them, a few rows at a time."""
    rows, depth = weight.shape
    q = torch.empty(weight.shape, dtype=torch.int8, device=weight.device)
    scale = torch.empty(rows, dtype=torch.float32, device=weight.device)
    step = max(1, _CHUNK_ELEMENTS // max(depth, 1))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        q[part], scale[part] = QuantizeRows().eval(weight[part])
    return q, scale
