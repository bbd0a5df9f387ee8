"""Mask algebra: turns what happens to attention scores into a band and one mask operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import fx

from forge_ugc.npuir.types import DType
from forge_ugc.passes.attention.band import Band, as_band, hides_exactly
from forge_ugc.passes.attention.peeling import bare, number, same_values, source_of, typed, upcast
from forge_ugc.passes.attention.steps import NEVER, Add, Fill, Frame, Mask, Step, choices
from forge_ugc.passes.graph import add_constant, aten, constant_of, emit, is_call, tensor_type

_LARGEST = 1 << 22  # elements of a constant that are compared to find a single number


def build_mask(anchor: fx.Node, steps: Sequence[Step], frame: Frame, by: str) -> Mask:
    """The mask of scores that went through `steps`, the last of which happened first.

    New nodes stand before `anchor`. Linear in the size of the constant masks.
    """
    builder = _Builder(anchor, frame, by)
    for step in reversed(steps):
        builder.take(step)
    return builder.finish()


class _Builder:
    """Collects constants by value (`shown`, `bias`) and the rest by node (`shows`, `adds`)."""

    def __init__(self, anchor: fx.Node, frame: Frame, by: str) -> None:
        self._anchor, self._frame, self._by = anchor, frame, by
        self._shown: torch.Tensor | None = None
        self._bias: torch.Tensor | None = None
        self._shows: list[tuple[fx.Node, bool]] = []
        self._adds: list[tuple[fx.Node, float]] = []
        self._constants: list[fx.Node] = []
        self._lead: tuple[int, ...] = ()

    def take(self, step: Step) -> None:
        self._lead = step.lead
        if isinstance(step, Add):
            self._add(step.mask, step.weight)
        elif step.value == NEVER:
            self._show(step.mask, step.keep)
        else:
            self._fill(step)

    def finish(self) -> Mask:
        bands = Band()
        alone = not self._adds and not self._shows
        if self._bias is not None:
            self._split_bias(alone)
        if self._shown is not None:
            found = as_band(self._shown, self._frame.queries, self._frame.keys)
            if found is not None:
                bands, self._shown = found, None
        return Mask(bands, self._operand())

    # ---- taking terms in

    def _add(self, node: fx.Node, weight: float) -> None:
        node = _unexpanded(node)
        value = constant_of(node)
        if value is not None:
            wide = value if value.dtype == torch.float64 else value.float()
            self._constants.append(node)
            self._bias_by(wide if weight == 1.0 else wide * weight)
            return
        if is_call(node, aten.add) and node.kwargs.get("alpha", 1) == 1:
            parts = node.args[:2]
            if all(isinstance(p, fx.Node) and _is_float(p) for p in parts):
                for part in parts:
                    self._add(cast(fx.Node, part), weight)
                return
        if weight <= 0 or not self._add_choice(node, weight):
            self._adds.append((self._lifted(node), weight))

    def _add_choice(self, node: fx.Node, weight: float) -> bool:
        """`where` with -inf on one side hides keys exactly, whatever else is added."""
        found = choices(node)
        if found is None:
            return False
        condition, yes, no = found
        keep = number(no, most=_LARGEST) == NEVER
        if keep == (number(yes, most=_LARGEST) == NEVER):
            return False
        other = yes if keep else no
        flat = number(other, most=_LARGEST)
        if flat is None and not (isinstance(other, fx.Node) and _is_float(other)):
            return False
        self._show(condition, keep)
        if flat is None:
            self._add(cast(fx.Node, other), weight)
        elif flat != 0.0:
            self._bias_by(torch.tensor(flat * weight))
        return True

    def _bias_by(self, value: torch.Tensor) -> None:
        value = self._lifted_value(value)
        self._bias = value if self._bias is None else self._bias + value

    def _show(self, node: fx.Node, keep: bool) -> None:
        node = _unexpanded(node)
        value = constant_of(node)
        if value is not None:
            value = self._lifted_value(value if keep else ~value)
            self._constants.append(node)
            self._shown = value if self._shown is None else self._shown & value
        elif is_call(node, aten.logical_not, aten.bitwise_not) and _is_bool(node.args[0]):
            self._show(source_of(node), not keep)
        elif _joins(node, keep):
            for part in node.args[:2]:
                self._show(cast(fx.Node, part), keep)
        else:
            self._shows.append((self._lifted(node), keep))

    def _fill(self, step: Fill) -> None:
        """A finite fill replaces what was added before it, so that comes first."""
        condition = constant_of(_unexpanded(step.mask))
        if condition is not None and not self._adds and not self._shows:
            keep = self._lifted_value(condition if step.keep else ~condition)
            before = torch.zeros(()) if self._bias is None else self._bias
            if self._shown is not None:
                before = before.masked_fill(~self._shown, NEVER)
            self._bias, self._shown = torch.where(keep, before, step.value), None
            return
        inner = self._operand()
        mask = self._lifted(_unexpanded(step.mask))
        kept: object = 0.0 if inner is None else self._as_bias(inner)
        sides = (kept, step.value) if step.keep else (step.value, kept)
        overload = {
            (False, False): aten.where.Scalar,
            (True, False): aten.where.ScalarOther,
            (False, True): aten.where.ScalarSelf,
        }[isinstance(sides[0], fx.Node), isinstance(sides[1], fx.Node)]
        filled = emit(self._anchor, overload, [mask, *sides], by=self._by)
        self._bias = self._shown = None
        self._shows, self._adds = [], [(filled, 1.0)]

    # ---- putting the result together

    def _split_bias(self, alone: bool) -> None:
        """Move what the constant bias hides for sure into `shown`."""
        bias = cast(torch.Tensor, self._bias)
        if self._shown is not None:
            bias, self._shown = bias.masked_fill(~self._shown, NEVER), None
        shown = hides_exactly(bias) if alone else None
        if shown is None:
            shown = bias != NEVER
            self._bias = bias.masked_fill(~shown, 0.0)
            if bool((self._bias == 0).all()):
                self._bias = None
        else:
            self._bias = None
        self._shown = shown
        if self._bias is not None and as_band(shown, self._frame.queries, self._frame.keys) is None:
            self._bias, self._shown = bias, None

    def _operand(self) -> fx.Node | None:
        """One node for everything that is no band."""
        shown = self._conjunction()
        if not self._adds and self._bias is None:
            return shown
        total: fx.Node | None = None
        for node, weight in self._adds:
            if weight != 1.0:
                node = emit(self._anchor, aten.mul.Tensor, [node, weight], by=self._by)
            total = self._sum(total, node)
        if self._bias is not None:
            total = self._sum(total, self._stored(self._bias, "attention_bias"))
        if shown is None or total is None:
            return total
        return emit(self._anchor, aten.where.ScalarOther, [shown, total, NEVER], by=self._by)

    def _conjunction(self) -> fx.Node | None:
        total: fx.Node | None = None
        for node, keep in self._shows:
            if not keep:
                node = emit(self._anchor, aten.logical_not.default, [node], by=self._by)
            total = node if total is None else self._and(total, node)
        if self._shown is not None:
            stored = self._stored(self._shown, "attention_mask")
            total = stored if total is None else self._and(total, stored)
        return total

    def _and(self, left: fx.Node, right: fx.Node) -> fx.Node:
        return emit(self._anchor, aten.bitwise_and.Tensor, [left, right], by=self._by)

    def _sum(self, left: fx.Node | None, right: fx.Node) -> fx.Node:
        if left is None:
            return right
        return emit(self._anchor, aten.add.Tensor, [left, right], by=self._by)

    def _as_bias(self, node: fx.Node) -> fx.Node:
        if _is_float(node):
            return node
        return emit(self._anchor, aten.where.Scalar, [node, 0.0, NEVER], by=self._by)

    def _stored(self, value: torch.Tensor, hint: str) -> fx.Node:
        """A constant's node: the model's own where nothing was done to it."""
        for node in self._constants:
            own = cast(torch.Tensor, constant_of(node))
            fits = own.shape == value.shape and own.is_floating_point() == value.is_floating_point()
            if fits and torch.equal(own.to(value.dtype), value):
                return node
        return add_constant(self._anchor, hint, value.contiguous())

    # ---- from the grouping of the scores to [batch, heads, ...]

    def _lifted(self, node: fx.Node) -> fx.Node:
        shapes = self._frame.regrouped(typed(node).shape, self._lead)
        if shapes is None:
            return node
        if shapes[0] != typed(node).shape:
            node = emit(self._anchor, aten.expand.default, [node, list(shapes[0])], by=self._by)
        return emit(self._anchor, aten.reshape.default, [node, list(shapes[1])], by=self._by)

    def _lifted_value(self, value: torch.Tensor) -> torch.Tensor:
        shapes = self._frame.regrouped(tuple(value.shape), self._lead)
        return value if shapes is None else value.expand(shapes[0]).reshape(shapes[1])


def _unexpanded(node: fx.Node) -> fx.Node:
    """What a mask broadcasts from, without copies and casts that keep every value."""
    while is_call(node, aten.expand) or same_values(node) or upcast(node):
        node = source_of(node)
    return bare(node)


def _joins(node: fx.Node, keep: bool) -> bool:
    """True if the node shows (keep) or hides (not keep) only where both operands do."""
    both = (aten.bitwise_and, aten.logical_and, aten.__and__)
    either = (aten.bitwise_or, aten.logical_or, aten.__or__)
    return is_call(node, *(both if keep else either)) and all(map(_is_bool, node.args[:2]))


def _is_bool(value: object) -> bool:
    kind = tensor_type(value)
    return kind is not None and kind.dtype == DType.BOOL


def _is_float(value: object) -> bool:
    kind = tensor_type(value)
    return kind is not None and kind.dtype.is_float
