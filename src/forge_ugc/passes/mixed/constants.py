"""Constants in another type, each converted once however many operators read it."""

from __future__ import annotations

from typing import cast

import torch
from torch import fx

from forge_ugc.ops.core.deferred import deferred_of, view
from forge_ugc.ops.core.postponed import Conversion, Postponed, postponed_of
from forge_ugc.passes.graph import add_constant, constant_of
from forge_ugc.quantization.int8 import quantize_weight

_Key = tuple[int, int, torch.Size, tuple[int, ...], torch.dtype, str]


class Constants:
    """Converts the constants of one graph one after the other.

    Tied weights are one constant by storage, and stay one. What is planned of one storage is made
    at once, so that a deferred weight is loaded once and dropped before the next. The graph drops
    the old constant when nothing reads it any more; its memory goes unless the user's module holds
    it. What the module holds anyway is converted later, if the graph postpones conversions.
    """

    def __init__(self, graph: fx.Graph) -> None:
        owner = cast(fx.GraphModule, graph.owning_module)
        self._deferred, self._postponed = deferred_of(owner), postponed_of(owner)
        self._known: dict[_Key, tuple[fx.Node, ...]] = {}
        self._planned: dict[int, list[tuple[fx.Node, str]]] = {}
        self._first = next(iter(graph.nodes))

    def plan(self, node: fx.Node, form: str) -> None:
        """Say beforehand that a constant will be read as "bf16" or "int8"."""
        self._planned.setdefault(_storage(_value(node)), []).append((node, form))

    def is_planned(self, node: fx.Node, form: str) -> bool:
        """Whether this very constant was planned, or made, in a form."""
        key = _key(_value(node), form)
        planned = self._planned.get(_storage(_value(node)), ())
        return key in self._known or any(key == _key(_value(n), f) for n, f in planned)

    def bf16(self, node: fx.Node) -> fx.Node:
        """The constant rounded to bf16, in the same layout."""
        return self._made(node, "bf16")[0]

    def int8(self, node: fx.Node) -> tuple[fx.Node, fx.Node]:
        """The weight [out, in] as i8, row-major, and the f32 scale of each row."""
        weight, scale = self._made(node, "int8")
        return weight, scale

    def _made(self, node: fx.Node, form: str) -> tuple[fx.Node, ...]:
        value = _value(node)
        key = _key(value, form)
        if key not in self._known:
            whole = None
            if self._deferred is not None and self._deferred.holds(value):
                whole = self._deferred.load(value)
            for other, wanted in ((node, form), *self._planned.pop(_storage(value), ())):
                self._convert(other, wanted, whole)
        return self._known[key]

    def _convert(self, node: fx.Node, form: str, whole: torch.Tensor | None) -> None:
        value = _value(node)
        key = _key(value, form)
        if key in self._known:
            return
        data = value if whole is None else view(whole, value)
        name = str(node.meta.get("fqn", node.target))
        later = self._postponed is not None and self._postponed.may_wait(data)
        convert = _rounded if form == "bf16" else _quantized
        first, *rest = convert(data, self._postponed if later else None)
        made = [self._constant(node, form, name, first)]
        made += [self._constant(node, "scale", f"{name}.scale", scale) for scale in rest]
        self._known[key] = tuple(made)

    def _constant(self, node: fx.Node, suffix: str, name: str, value: torch.Tensor) -> fx.Node:
        constant = add_constant(self._first, f"{node.target}_{suffix}", value)
        constant.meta["fqn"] = name
        constant.meta["origin"] = "precision"
        return constant


def _value(node: fx.Node) -> torch.Tensor:
    value = constant_of(node)
    assert value is not None  # noqa: S101 - callers look first
    return value.detach()


def _storage(value: torch.Tensor) -> int:
    return int(value.untyped_storage()._cdata)


def _key(value: torch.Tensor, form: str) -> _Key:
    return (
        _storage(value), int(value.storage_offset()), value.shape, value.stride(), value.dtype, form
    )  # fmt: skip


def _rounded(data: torch.Tensor, postponed: Postponed | None) -> tuple[torch.Tensor, ...]:
    """The data in bf16, in the same layout."""
    if postponed is None or data.dtype != torch.float32:
        return (data.to(torch.bfloat16),)
    stand_in = torch.empty_like(data, dtype=torch.bfloat16, device="meta")
    same_layout = data if stand_in.stride() == data.stride() else None
    postponed.add(stand_in, Conversion(lambda: data.to(torch.bfloat16), same_layout))
    return (stand_in,)


def _quantized(data: torch.Tensor, postponed: Postponed | None) -> tuple[torch.Tensor, ...]:
    """The weight in i8, row-major, and the f32 scale of each row."""
    if postponed is None:
        return quantize_weight(data)
    stand_in = torch.empty(data.shape, dtype=torch.int8, device="meta")
    scale = torch.empty(len(data), dtype=torch.float32)

    def make() -> torch.Tensor:
        q, found = quantize_weight(data)
        scale.copy_(found)  # nobody reads it without the weight
        return q

    postponed.add(stand_in, Conversion(make))
    return stand_in, scale
