"""Random valid programs through scheduler and allocator, judged by independent checkers."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator
from types import ModuleType

from hypothesis import HealthCheck, given, settings

from benchmarks.core.benchmark import Benchmark, Settings, SkippedError, benchmark
from benchmarks.core.environment import ROOT
from benchmarks.core.measurement import Ask, Measurement, Subject
from forge_ugc.errors import VerificationError
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.infer import infer
from forge_ugc.schedule.check_buffers import check_buffers
from forge_ugc.schedule.check_order import check_order
from forge_ugc.schedule.linear_scan import allocate
from forge_ugc.schedule.scheduler import schedule

_INSTRUCTIONS = 40
_ENOUGH = Ask("1,000 random programs", at_least=1000)
_ALL_PASS = Ask("all of them pass the verifier and the independent checkers", at_most=0)


@benchmark("random_programs")
class RandomPrograms(Benchmark):
    """Programs of up to 40 real operators on one to three devices, drawn by hypothesis.

    The generator is that of the tests: views, several results, stores, random draws, effects. Every
    program is scheduled and allocated, then printed, parsed, verified with type rules, and checked
    by `check_order` and `check_buffers`. Programs are counted once each; the draw is the same in
    every run.
    """

    title = "Random programs through the independent checkers"

    def run(self, settings: Settings) -> Iterator[Measurement]:
        seen: set[str] = set()
        faults: list[str] = []
        waste: list[float] = []
        wanted = settings.pick(1000, 20)
        start = time.perf_counter()

        def check(program: Program) -> None:
            text = print_program(program)
            if text in seen or len(seen) == wanted:
                return
            seen.add(text)
            fault = _check(program, waste)
            if fault:
                faults.append(fault)
            if len(seen) % 250 == 0:
                settings.say(f"{len(seen)} programs, {len(faults)} faults")

        # Draws may repeat: a few more than wanted are asked for.
        _draw(check, wanted + wanted // 2)
        row = Subject("Programs", "random")
        yield row.measure("distinct programs", "count", len(seen), ask=_ENOUGH)
        yield row.measure("rejected", "count", len(faults), ask=_ALL_PASS)
        yield row.measure("arena / largest live set", "ratio", waste)
        yield row.measure("time in all", "s", time.perf_counter() - start)
        for index, fault in enumerate(faults[:10]):
            yield Subject("Faults", f"fault {index}").note("message", fault)


def _draw(check: object, examples: int) -> None:
    """Call `check` with programs until hypothesis has drawn enough."""
    found = given(_generator().programs(_INSTRUCTIONS))(check)
    settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )(found)()  # fmt: skip


def _generator() -> ModuleType:
    path = ROOT / "tests" / "schedule" / "programs.py"
    spec = importlib.util.spec_from_file_location("random_programs_generator", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SkippedError(f"there is no {path}; run in a clone")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _check(program: Program, waste: list[float]) -> str | None:
    """Schedule, allocate and check one program: what is wrong with it, if anything."""
    try:
        ordered, _ = schedule(program)
        placed, stats = allocate(ordered)
        verify(placed, infer)
        check_order(program, placed)
        check_buffers(placed)
    except VerificationError as error:
        return str(error).splitlines()[0]
    if parse_program(print_program(placed)) != placed:
        return "parse(print(p)) != p"
    if stats.lower_bound_bytes:
        waste.append(stats.peak_bytes / stats.lower_bound_bytes)
    return None
