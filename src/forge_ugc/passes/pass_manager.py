"""The fixpoint loop that runs passes, times and counts them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import fx

from forge_ugc.errors import OptionError
from forge_ugc.options import Options
from forge_ugc.passes.base import Fired, GraphPass, NearMiss, RewritePass, build, registered
from forge_ugc.passes.core.cleanup import drop_unused_attributes
from forge_ugc.passes.core.verification import Outputs, compare, run_graph
from forge_ugc.passes.graph import calls
from forge_ugc.passes.pipelines import AFTER_PRECISION, DEFAULT, PRECISION
from forge_ugc.passes.snapshot import Snapshot, take_snapshot
from forge_ugc.passes.text import format_graph, operator_of

Counts = tuple[tuple[str, int], ...]
"""Calls by operator, sorted by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRun:
    """One run of one pass.

    Attributes:
        name, round: the pass, and which round of the pipeline it was (from 1).
        seconds: time of the pass alone, without counting and checking.
        before, after: calls by operator.
        changed: rewrites; 0 if the graph stayed as it was.
        max_abs_difference: of the graph's results before and after, if passes are verified.
        graph: as the pass left it, if graphs are kept.
    """

    name: str
    round: int
    seconds: float
    before: Counts
    after: Counts
    changed: int
    details: tuple[Fired, ...]
    near_misses: tuple[NearMiss, ...]
    max_abs_difference: float | None = None
    graph: Snapshot | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineReport:
    """What the passes did together.

    Attributes:
        rounds: how often the pipeline started; the last round usually changes nothing.
        runs: every run in order.
        captured: the graph before the first pass, if graphs are kept.
        keeping_seconds: what keeping graphs took, which is part of no pass.
    """

    rounds: int
    runs: tuple[PassRun, ...]
    captured: Snapshot | None = None
    keeping_seconds: float = 0.0

    @property
    def nodes_before(self) -> int:
        """Calls in the graph as captured."""
        return sum(n for _, n in self.runs[0].before) if self.runs else 0

    @property
    def nodes_after(self) -> int:
        """Calls in the optimised graph."""
        return sum(n for _, n in self.runs[-1].after) if self.runs else 0

    @property
    def seconds(self) -> float:
        """Time of all passes together."""
        return sum(run.seconds for run in self.runs)

    @property
    def details(self) -> tuple[Fired, ...]:
        """Every rewrite that happened, in order."""
        return tuple(fired for run in self.runs for fired in run.details)

    @property
    def near_misses(self) -> tuple[NearMiss, ...]:
        """What did not fire in the last run of each pass, each once."""
        last = {run.name: run.near_misses for run in self.runs}
        return tuple(dict.fromkeys(miss for misses in last.values() for miss in misses))


class PassManager:
    """Runs a pipeline until nothing changes any more, then `precision` if the options ask for it.

    Raises:
        OptionError: a pass or a name in `options.disable` does not exist.
    """

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        names = DEFAULT if self.options.passes is None else self.options.passes
        _check_names(self.options.disable)
        self._passes = build([name for name in names if name not in self.options.disable])
        last = (PRECISION, *AFTER_PRECISION) if self.options.precision is not None else ()
        self._last = build([name for name in last if name not in self.options.disable])

    def run(
        self,
        graph_module: fx.GraphModule,
        example_inputs: Sequence[torch.Tensor] | None = None,
        *,
        recompile: bool = True,
    ) -> PipelineReport:
        """Optimise the graph in place.

        Args:
            recompile: let calls of the module run the new graph; takes an eighth of all the time.
            example_inputs: one tensor a placeholder; only needed with `verify_passes`.

        Raises:
            OptionError: `verify_passes` without example inputs.
            InternalError: a verified pass changed the results; names the pass.
        """
        state = _State(graph_module, self.options, example_inputs)
        rounds = quiet = 0
        while rounds < self.options.max_rounds and quiet < len(self._passes):
            rounds += 1
            for done, graph_pass in enumerate(self._passes, start=1):
                changed = state.step(graph_pass, rounds)
                quiet = 0 if changed else quiet + 1
                if self.options.progress is not None:
                    self.options.progress("passes", done, len(self._passes))
                if quiet == len(self._passes):
                    break
        for graph_pass in self._last:
            state.step(graph_pass, rounds + 1)
        drop_unused_attributes(graph_module)
        graph_module.graph.lint()
        if recompile:
            graph_module.recompile()
        return PipelineReport(
            rounds=rounds,
            runs=tuple(state.runs),
            captured=state.captured,
            keeping_seconds=state.keeping_seconds,
        )


class _State:
    """One pipeline under way: the graph, its counts and last results, the runs so far."""

    def __init__(
        self,
        graph_module: fx.GraphModule,
        options: Options,
        inputs: Sequence[torch.Tensor] | None,
    ) -> None:
        if options.verify_passes and inputs is None:
            raise OptionError("verify_passes needs example inputs", fix="pass them to run()")
        self._graph_module, self._options, self._inputs = graph_module, options, inputs
        self.runs: list[PassRun] = []
        self._counts = _count(graph_module)
        self.keeping_seconds = 0.0
        self.captured = self._graph = self._snapshot()
        self._results: Outputs | None = None
        if options.verify_passes and inputs is not None:
            self._results = run_graph(graph_module, inputs, "as captured")
        self._dump("captured")

    def step(self, graph_pass: GraphPass, number: int) -> int:
        """Run one pass; returns how many rewrites it made."""
        start = time.perf_counter()
        result = graph_pass.run(self._graph_module, self._options)
        seconds = time.perf_counter() - start
        before, difference = self._counts, None
        if result.changed:
            self._counts, self._graph = _count(self._graph_module), self._snapshot()
        if self._results is not None and self._inputs is not None:
            old, when = self._results, f"after {graph_pass.name}"
            self._results = run_graph(self._graph_module, self._inputs, when)
            difference = compare(
                graph_pass.name, old, self._results, self._graph_module,
                bounded=not graph_pass.approximates,
            )  # fmt: skip
        self.runs.append(
            PassRun(
                name=graph_pass.name,
                round=number,
                seconds=seconds,
                before=before,
                after=self._counts,
                changed=result.changed,
                details=result.details,
                near_misses=result.near_misses,
                max_abs_difference=difference,
                graph=self._graph,
            )
        )
        self._dump(f"round{number}-{graph_pass.name}")
        return result.changed

    def _snapshot(self) -> Snapshot | None:
        if not self._options.keep_graphs:
            return None
        start = time.perf_counter()
        found = take_snapshot(self._graph_module)
        self.keeping_seconds += time.perf_counter() - start
        return found

    def _dump(self, name: str) -> None:
        folder = self._options.dump_ir
        if folder is not None:
            path = Path(folder) / f"{len(self.runs):02d}-{name}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(format_graph(self._graph_module), encoding="utf-8")


def _count(graph_module: fx.GraphModule) -> Counts:
    return tuple(sorted(Counter(map(operator_of, calls(graph_module.graph))).items()))


def _check_names(disable: frozenset[str]) -> None:
    if not disable:
        return
    known = set(registered())
    for cls in registered().values():
        if issubclass(cls, RewritePass):
            known.update(rewrite.name for rewrite in cls.rewrites)
    for name in sorted(disable - known):
        raise OptionError(
            f"no pass and no rewrite is called {name!r}",
            fix=f"choose from {', '.join(sorted(known))}",
        )
