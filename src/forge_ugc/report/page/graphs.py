"""Graphs before and after passes as JSON: each line once, a graph as the numbers of its lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from forge_ugc.passes.base import Fired
from forge_ugc.passes.pass_manager import PipelineReport
from forge_ugc.passes.snapshot import GraphLine, Snapshot
from forge_ugc.report.page.strings import Strings

if TYPE_CHECKING:
    from forge_ugc.report.document import Json


def graphs_document(pipeline: PipelineReport, strings: Strings) -> Json:
    """The graphs of a pipeline, or None if none were kept.

    Returns:
        `lines`: [name, operator, text, module, source, rule] of each distinct line, as numbers of
        strings; `graphs`: the numbers of the lines of each distinct graph; `steps`: for all passes
        together, then for each run: the graph `before` and `after`, and `replaced`, pairs of the
        names of a node that is gone and of the node that stands for it.
    """
    if pipeline.captured is None:
        return None
    lines: dict[tuple[int, ...], int] = {}
    graphs: list[Json] = []
    known: dict[int, int] = {}

    def number_of(snapshot: Snapshot) -> int:
        if id(snapshot) not in known:
            known[id(snapshot)] = len(graphs)
            rows = [_row(line, strings) for line in snapshot]
            graphs.append([lines.setdefault(row, len(lines)) for row in rows])
        return known[id(snapshot)]

    def step(before: Snapshot, after: Snapshot, events: Iterable[Fired]) -> Json:
        pairs = replaced_by(before, after, events) if before is not after else {}
        return {
            "before": number_of(before), "after": number_of(after),
            "replaced": [[strings.add(old), strings.add(new)] for old, new in pairs.items()],
        }  # fmt: skip

    kept = [run.graph for run in pipeline.runs if run.graph is not None]
    last = kept[-1] if kept else pipeline.captured
    steps = [step(pipeline.captured, last, pipeline.details)]
    before = pipeline.captured
    for run in pipeline.runs:
        after = before if run.graph is None else run.graph
        steps.append(step(before, after, run.details))
        before = after
    return {"lines": [list(row) for row in lines], "graphs": graphs, "steps": steps}


def _row(line: GraphLine, strings: Strings) -> tuple[int, ...]:
    module, source = strings.place(line.location)
    name, operator, text = strings.add(line.name), strings.add(line.operator), line.text
    return name, operator, strings.add(text), module, source, strings.add(line.rule)


def replaced_by(before: Snapshot, after: Snapshot, events: Iterable[Fired]) -> dict[str, str]:
    """For nodes that are gone: the node that stands for them now.

    A node that a rewrite begins its text with (`linear_1 -> linear`) is replaced by what the
    rewrite made, or by what later rewrites made of that. A node that only such nodes read went with
    them. Of the rest, a node is replaced by what its readers, where they are still there, read in
    its place. Others have no entry: unused nodes, and some of those inside of larger patterns.
    """
    made = {event.what.partition(" ")[0].rstrip(":"): event.node for event in events}
    present = {line.name for line in after}
    readers: dict[str, list[str]] = {line.name: [] for line in before}
    for line in before:
        for operand in line.operands:
            readers[operand].append(line.name)
    found: dict[str, str] = {}
    for line in reversed(before):
        if line.name in present or line.operator in ("input", "const", "state", "output"):
            continue
        target = _final(line.name, made, present)
        if target is None and readers[line.name]:
            targets = [found.get(reader) for reader in readers[line.name]]
            target = targets[0] if None not in targets else None
        if target is not None:
            found[line.name] = target
    return {**_read_instead(before, after), **dict(reversed(found.items()))}


def _read_instead(before: Snapshot, after: Snapshot) -> dict[str, str]:
    """What nodes that are still there read in the place of nodes that are gone."""
    now = {line.name: line for line in after}
    found: dict[str, str] = {}
    for line in before:
        kept = now.get(line.name)
        if kept is None or len(kept.operands) != len(line.operands):
            continue
        for old, new in zip(line.operands, kept.operands, strict=True):
            if old not in now and old != new:
                found[old] = new
    return found


def _final(name: str, made: dict[str, str], present: set[str]) -> str | None:
    """Follow rewrites from a node to the first one that is still there."""
    seen = {name}
    while (following := made.get(name)) is not None and following not in seen:
        if following in present:
            return following
        seen.add(following)
        name = following
    return None
