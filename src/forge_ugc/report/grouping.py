"""Counting: events of passes gathered over the layers of a model, and calls of operators."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from forge_ugc.passes.base import Fired, NearMiss

_INDEX = re.compile(r"(?<![^.])\d+(?![^.])")
_NODE_NUMBER = re.compile(r"(?<=\w)_\d+(?=_|\b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Events of one rule at the same place of repeated layers.

    Attributes:
        rule: name of the rewrite.
        text: the reason of a near miss; for rewrites that fired, what they made. Numbers of nodes
            (`linear_3`) are left out.
        module: module path with layer numbers as `*`.
        source: file and line; empty if unknown.
        node: name of the first event's node.
        count: number of events.
    """

    rule: str
    text: str
    module: str
    source: str
    node: str
    count: int


def node_count(counts: Iterable[tuple[str, int]]) -> int:
    """Operator calls in all, from calls by operator."""
    return sum(count for _, count in counts)


def group_fired(events: Iterable[Fired]) -> tuple[Group, ...]:
    """Rewrites by rule, result, place and source line; the most frequent first."""
    return _group((e, e.what.partition(" -> ")[2] or e.what) for e in events)


def group_near_misses(events: Iterable[NearMiss]) -> tuple[Group, ...]:
    """Near misses by rule, reason, place and source line; the most frequent first."""
    return _group((e, e.reason) for e in events)


def _group(events: Iterable[tuple[Fired | NearMiss, str]]) -> tuple[Group, ...]:
    nodes: dict[tuple[str, str, str, str], list[str]] = {}
    for event, text in events:
        place = event.location
        source = f"{place.file}:{place.line}" if place.file else ""
        text = _NODE_NUMBER.sub("", text)
        key = (event.rule, text, _INDEX.sub("*", place.module), source)
        nodes.setdefault(key, []).append(event.node)
    groups = [
        Group(rule=r, text=t, module=m, source=s, node=found[0], count=len(found))
        for (r, t, m, s), found in nodes.items()
    ]
    return tuple(sorted(groups, key=lambda g: (-g.count, g.rule)))
