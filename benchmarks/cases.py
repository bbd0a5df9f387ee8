"""The collected fault cases and architectures, beside other engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.core.benchmark import Benchmark, Settings, SkippedError, benchmark
from benchmarks.core.environment import ROOT
from benchmarks.core.measurement import Ask, Measurement, Subject

_SUITES = {"handed": "Cases", "arch": "Architectures"}
_ENGINES = ("forge", "forge-torch-compile")
_ASKS = {
    "handed": Ask("all cases that apply", at_least=1.0),
    "arch": Ask("all architectures", at_least=1.0),
}  # fmt: skip
# ../shared/cases/RESULTS.md, measured with the same torch and transformers: (total, passes).
_OTHERS = {
    "handed": (58, {"eager": 58, "torch.export": 57, "OpenVINO (torch.export)": 42,
                    "OpenVINO (TorchScript)": 38, "ONNX Runtime": 48, "Inductor": 55}),
    "arch": (42, {"eager": 42, "torch.export": 42, "OpenVINO (torch.export)": 38,
                  "ONNX Runtime": 38}),
}  # fmt: skip


@benchmark("cases")
class Cases(Benchmark):
    """Behaviour that other engines were reported to get wrong, and a list of architectures.

    `../shared/cases/run.py --engine ENGINE --suite SUITE`, each case in a process of its own with
    one thread; FORGE_CASES names another folder. A pass is a result equal to eager's, or the clear
    error that the case asks for. Figures of other engines are those of `RESULTS.md` there.
    """

    title = "Fault cases and architectures"

    def run(self, settings: Settings) -> Iterator[Measurement]:
        folder = Path(os.environ.get("FORGE_CASES", ROOT.parent / "shared" / "cases"))
        if not (folder / "run.py").is_file():
            raise SkippedError(f"there is no {folder / 'run.py'}; FORGE_CASES names the folder")
        only = ["--only", "gelus", "--only", "distilbert"] if settings.quick else []
        for suite, table in _SUITES.items():
            runs = [partial(_run, settings, folder, engine, suite, only) for engine in _ENGINES]
            with ThreadPoolExecutor(len(runs)) as side_by_side:  # nothing here is timed
                found = [run.result() for run in [side_by_side.submit(run) for run in runs]]
            for engine, cases in zip(_ENGINES, found, strict=True):
                yield from _totals(table, engine, cases, _ASKS[suite])
            total, passes = _OTHERS[suite]
            for engine, passed in passes.items():
                row = Subject(table, engine)
                yield row.quote("passed", "count", passed)
                yield row.quote("share", "share", passed / total)


def _run(
    settings: Settings, folder: Path, engine: str, suite: str, only: list[str]
) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "out.json"
        arguments = ["--engine", engine, "--suite", suite, "--timeout", "180", "--json", str(path)]
        sources = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        with subprocess.Popen(
            [sys.executable, str(folder / "run.py"), *arguments, *only],
            env={**os.environ, "PYTHONPATH": sources}, stdout=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            for line in process.stdout or ():
                if line.strip():
                    settings.say(f"{engine}: {line.rstrip()}")
        if not path.is_file():
            raise SkippedError(f"{folder / 'run.py'} wrote no results for {engine} on {suite}")
        found: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _totals(
    table: str, engine: str, found: list[dict[str, str]], ask: Ask
) -> Iterator[Measurement]:
    counts = Counter(case["status"] for case in found)
    row = Subject(table, engine)
    yield row.measure("passed", "count", counts["pass"])
    yield row.measure("of", "count", len(found))
    # Where an engine has no such facility the case says n/a: torch.compile saves no files.
    applicable = len(found) - counts["n/a"]
    yield row.measure("share", "share", counts["pass"] / applicable, ask=ask)
    refused = sum(case["status"] == "pass" and "refused" in case["reason"] for case in found)
    yield row.measure("clear refusals", "count", refused)
    for status in ("fail", "error", "crash", "timeout", "n/a"):
        yield row.measure(status, "count", counts[status])
    for case in found:
        if case["status"] != "pass":
            fault = Subject(f"{table}: not passed", case["name"])
            yield fault.note(engine, f"{case['status']}: {case['reason']}")
