"""Reading a node as a piece of another one's last axis."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

from torch import fx

from forge_ugc.passes.graph import aten, is_call, tensor_type
from forge_ugc.passes.operators.matching import argument


@dataclass(frozen=True, slots=True)
class Piece:
    """base[..., start:stop:step]."""

    base: fx.Node
    start: int
    stop: int
    step: int = 1

    def is_run(self, start: int, stop: int) -> bool:
        """True for base[..., start:stop]."""
        return (self.start, self.stop, self.step) == (start, stop, 1)


def width(node: object) -> int:
    """Size of a node's last axis; 0 if it has none."""
    kind = tensor_type(node)
    return kind.shape[-1] if kind is not None and kind.rank else 0


def piece(value: object) -> Piece | None:
    """Read slice, narrow, chunk, split, alias, and the columns of a view in pairs.

    None if the node is no piece of a last axis.
    """
    if not isinstance(value, fx.Node) or value.op != "call_function":
        return None
    if value.target is operator.getitem:
        return _part(cast(fx.Node, value.args[0]), cast(int, value.args[1]))
    source = value.args[0] if value.args else None
    kind = tensor_type(source)
    if kind is None or not kind.rank:
        return None
    base, size = cast(fx.Node, source), kind.shape[-1]
    if is_call(value, aten.alias):
        return Piece(base, 0, size)
    if is_call(value, aten.select.int):
        return _column(base, value)
    if argument(value, 1, "dim", 0) not in (-1, kind.rank - 1):
        return None
    if is_call(value, aten.slice.Tensor):
        start, stop, _ = slice(argument(value, 2, "start"), argument(value, 3, "end"), 1).indices(
            size
        )
        return Piece(base, start, stop, cast(int, argument(value, 4, "step", 1)))
    if is_call(value, aten.narrow.default):
        start = cast(int, argument(value, 2, "start")) % size
        return Piece(base, start, start + cast(int, argument(value, 3, "length")))
    return None


def _part(splitter: fx.Node, index: int) -> Piece | None:
    if is_call(splitter, aten.unbind):
        source = cast(fx.Node, splitter.args[0])
        kind = tensor_type(source)
        if kind is None or argument(splitter, 1, "dim", 0) not in (-1, kind.rank - 1):
            return None
        return _pair_column(source, index)
    if not is_call(splitter, aten.chunk, aten.split, aten.split_with_sizes):
        return None
    base = cast(fx.Node, splitter.args[0])
    kind = tensor_type(base)
    if kind is None or argument(splitter, 2, "dim", 0) not in (-1, kind.rank - 1):
        return None
    parts = cast(tuple[object, ...], splitter.meta["type"])
    sizes = [k.shape[-1] for k in parts]  # type: ignore[attr-defined]
    ends = list(accumulate(sizes))
    return Piece(base, ends[index] - sizes[index], ends[index])


def _column(source: fx.Node, value: fx.Node) -> Piece | None:
    kind = tensor_type(source)
    if kind is None or argument(value, 1, "dim") not in (-1, kind.rank - 1):
        return None
    return _pair_column(source, cast(int, argument(value, 2, "index")))


def _pair_column(pairs: fx.Node, index: int) -> Piece | None:
    """Column `index` of x.view(..., n / 2, 2), which is x[..., index::2]."""
    kind = tensor_type(pairs)
    if kind is None or not is_call(pairs, aten.view, aten.reshape, aten.unflatten):
        return None
    base = cast(fx.Node, pairs.args[0])
    before = tensor_type(base)
    if before is None or kind.shape != (*before.shape[:-1], before.shape[-1] // 2, 2):
        return None
    return Piece(base, index % 2, before.shape[-1], 2)


def halves(first: object, second: object) -> fx.Node | None:
    """The node whose last axis `first` and `second` are the two halves of, in that order."""
    a, b = piece(first), piece(second)
    if a is None or b is None or a.base is not b.base:
        return None
    size = width(a.base)
    fits = size % 2 == 0 and a.is_run(0, size // 2) and b.is_run(size // 2, size)
    return a.base if fits else None


def pairs(first: object, second: object) -> fx.Node | None:
    """The node whose even and odd elements of the last axis `first` and `second` are."""
    a, b = piece(first), piece(second)
    if a is None or b is None or a.base is not b.base:
        return None
    size = width(a.base)
    even, odd = (a.start, a.step) == (0, 2), (b.start, b.step) == (1, 2)
    whole = size % 2 == 0 and a.stop >= size - 1 and b.stop == size
    return a.base if even and odd and whole else None
