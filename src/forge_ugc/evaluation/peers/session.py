"""One model in one precision: build the engines, run them in turn, collect what they did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from forge_ugc.evaluation.peers.interleave import interleave
from forge_ugc.evaluation.peers.line_up import Entry, available_bytes, groups
from forge_ugc.evaluation.peers.outcome import Outcome, Reference, compare
from forge_ugc.evaluation.peers.workers import Job, Worker, WorkerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """How all models of one run are measured.

    Attributes:
        folder: where results lie while they are compared.
        runs, warm_ups, block: see `interleave`.
        layers: number of layers instead of the model's own.
        say: takes a line of progress.
        tokens: length of the input, where the model takes tokens.
        thorough: also collect the phases of the build, the size on disk and the energy.
    """

    folder: Path
    runs: int
    warm_ups: int
    block: int
    threads: int
    layers: int | None
    say: Callable[[str], None]
    tokens: int = 128
    thorough: bool = False

    def start(self, model: str, entry: Entry) -> Worker:
        """A worker whose model is built.

        Raises:
            WorkerError: it cannot be built.
        """
        job = Job(
            engine=entry.engine, model=model, precision=entry.precision, threads=self.threads,
            layers=self.layers, tokens=self.tokens,
        )  # fmt: skip
        name = f"{model}, {entry.engine} {entry.precision}"
        return Worker(job, partial(_prefixed, self.say, name))

    def reference(self, model: str) -> Reference:
        """Run eager in float32 once.

        Raises:
            WorkerError: the model cannot be loaded.
        """
        path = self.folder / "reference.npy"
        with self.start(model, Entry("eager", "fp32")) as worker:
            shape = worker.ask(f"output {path}")["shape"]
            linears = [(m, k, n) for m, k, n in worker.ask("linears")]
            ready = worker.ready
        return Reference(
            output=path, linears=linears, parameters=ready["parameters"],
            logits=shape[-1] == ready["vocabulary"],
        )  # fmt: skip

    def measure(
        self, model: str, ours: Entry, peers: Sequence[Entry], reference: Reference
    ) -> list[Outcome]:
        """The outcomes of ours and of the peers, in that order."""
        own = Outcome(ours)
        found = [own, *(Outcome(peer) for peer in peers)]
        by_entry = {outcome.entry: outcome for outcome in found}
        parts = groups(
            ours, peers, weight_bytes=4 * reference.parameters, available_bytes=available_bytes()
        )
        with ExitStack() as stack:
            worker = self._start(model, own)
            if worker is not None:
                stack.enter_context(worker)
            for group in list(parts):
                rivals = [by_entry[entry] for entry in group if entry != ours]
                self._group(model, own, worker, rivals, reference)
            if worker is not None:
                self._finish(own, worker, reference)
        return found

    def _group(
        self, model: str, own: Outcome, worker: Worker | None, rivals: Sequence[Outcome],
        reference: Reference,
    ) -> None:  # fmt: skip
        with ExitStack() as stack:
            running: dict[str, tuple[Outcome, Worker]] = {}
            if worker is not None and own.failure is None:
                running[own.entry.label] = (own, worker)
            for rival in rivals:
                started = self._start(model, rival)
                if started is not None:
                    running[rival.entry.label] = (rival, stack.enter_context(started))
            timings = interleave(
                {name: pair[1] for name, pair in running.items()},
                runs=self.runs, warm_ups=self.warm_ups, block=self.block,
            )  # fmt: skip
            for name, timing in timings.items():
                outcome, process = running[name]
                outcome.times_ms += [value / 1e6 for value in timing.nanoseconds]
                outcome.waiting_share = max(outcome.waiting_share, timing.waiting_share)
                outcome.failure = timing.failure
                if outcome is not own:
                    self._finish(outcome, process, reference)
            beside = timings.get(own.entry.label)
            if beside is not None and beside.failure is None:
                for rival in rivals:
                    rival.forge_ms = [value / 1e6 for value in beside.nanoseconds]

    def _start(self, model: str, outcome: Outcome) -> Worker | None:
        try:
            worker = self.start(model, outcome.entry)
        except WorkerError as error:
            outcome.failure = str(error)
            self.say(f"{model}, {outcome.entry.label} failed: {error}")
            return None
        outcome.ready = worker.ready
        if self.thorough:
            try:
                outcome.cold = worker.ask("cold")
            except WorkerError as error:
                worker.close()
                outcome.failure = str(error)
                return None
        return worker

    def _finish(self, outcome: Outcome, worker: Worker, reference: Reference) -> None:
        """Collect what is not time: memory first, which the result's copy would raise."""
        if outcome.failure is not None:
            return
        path = self.folder / "output.npy"
        try:
            outcome.memory = worker.ask("memory")
            worker.ask(f"output {path}")
            if self.thorough:
                outcome.energy = worker.ask(f"energy {self.runs}")
                outcome.artifact_bytes = worker.ask("artifact")
        except WorkerError as error:
            outcome.failure = str(error)
            return
        outcome.fidelity = compare(reference, path)


def _prefixed(say: Callable[[str], None], prefix: str, text: str) -> None:
    say(f"{prefix}: {text}")
