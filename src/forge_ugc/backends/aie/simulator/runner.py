"""Runs an ADF graph on x86: builds the program, starts it and reads what it found."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from forge_ugc.backends.aie.device import device_named
from forge_ugc.backends.aie.simulator import faults
from forge_ugc.backends.aie.simulator.builder import Builder, Program, Progress, Request
from forge_ugc.backends.aie.simulator.parsing import Fields, kernel_of, plio_of, read_document
from forge_ugc.backends.aie.simulator.result import KernelAccount, SimulationResult
from forge_ugc.backends.aie.simulator.toolchain import (
    Cache,
    Toolchain,
    cache_folder,
    find_toolchain,
)
from forge_ugc.errors import OptionError, SimulationError

LOG_BYTES = 1 << 20


def simulate(
    graph: Path | str, *, include_dirs: Sequence[Path | str] = (), defines: Sequence[str] = (),
    data_dir: Path | str | None = None, out_dir: Path | str | None = None,
    device: str = "vck190", iterations: int | None = None,
    costs: Mapping[str, float] | None = None, timeout_s: float = 600.0,
    time_stamps: bool = False, progress: Progress | None = None,
) -> SimulationResult:  # fmt: skip
    """Build and run the graph of a C++ file as it is, and account for every tile.

    Args:
        graph: the file with the graph object and main; a main is not needed if there is one graph.
        include_dirs: further folders of headers and kernel sources; the graph's own folder and
            the two above are searched too.
        defines: macros, as `NAME` or `NAME=VALUE`.
        data_dir: where PLIO inputs are; default: the folders of sources.
        out_dir: where PLIO outputs go, under the names that the graph gives; default: a folder
            `aiesim_output` in the current one.
        device: which array: `vck190` or `vek280`.
        iterations: instead of those of every graph.run.
        costs: figures of the cycle model by name, instead of the defaults.
        timeout_s: of the run, without the build.
        time_stamps: put `T ... ns` lines into outputs, as AMD's aiesimulator does.
        progress: called with (stage, done, total).

    Raises:
        OptionError: a file, a source or an input is missing, or an option is wrong.
        BackendUnavailableError: there is no compiler.
        SimulationError: the code does not compile, a kernel fails, or the graph deadlocks.
    """
    request, folders = _request(graph, include_dirs, defines, device, data_dir)
    if iterations is not None and iterations < 1:
        raise OptionError(f"iterations is {iterations}", fix="at least 1")
    toolchain = find_toolchain()
    started = time.perf_counter()
    builder = Builder(toolchain, Cache(cache_folder()), progress or (lambda *_: None))
    program = builder.build(request)
    built = time.perf_counter()
    if progress is not None:
        progress("simulate", 0, 1)
    out = Path(out_dir or "aiesim_output").absolute()
    environment = {
        "AIESIM_OUT": str(out),
        "AIESIM_DATA": ":".join(str(folder) for folder in folders),
        "AIESIM_ITERATIONS": str(iterations or 0),
        "AIESIM_TIME_STAMPS": "1" if time_stamps else "",
    }
    figures = {"clock_mhz": request.device.clock_hz / 1e6, **(costs or {})}
    with tempfile.TemporaryDirectory(prefix="aiesim-") as scratch:
        document, log = _run(program, environment, figures, Path(scratch), timeout_s)
    _raise_faults(document, toolchain, program)
    found = _result(document, request, out, log)
    return replace(found, build_seconds=built - started, run_seconds=time.perf_counter() - built)


def _result(document: Fields, request: Request, out: Path, log: str) -> SimulationResult:
    kernels = tuple(kernel_of(fields) for fields in document.items("kernels"))
    plios = tuple(plio_of(fields) for fields in document.items("plios"))
    warnings = [str(warning) for warning in document.get("warnings", list)]
    return SimulationResult(
        graph=request.graph,
        device=request.device.name,
        clock_hz=document.get("clock_mhz", float) * 1e6,
        outputs={p.name: _output(out, p.file) for p in plios if not p.is_input and p.file},
        kernels=kernels,
        plios=plios,
        warnings=(*warnings, *_warnings(kernels, request.device.data_bytes)),
        exit_code=document.get("exit_code", int),
        log=log,
        build_seconds=0,
        run_seconds=0,
    )


def _request(
    graph: Path | str, include_dirs: Sequence[Path | str], defines: Sequence[str], device: str,
    data_dir: Path | str | None,
) -> tuple[Request, list[Path]]:  # fmt: skip
    path = Path(graph).absolute()
    if not path.is_file():
        raise OptionError(f"there is no file {graph}", fix="name the C++ file with the graph")
    request = Request(
        graph=path,
        include_dirs=tuple(Path(folder).absolute() for folder in include_dirs),
        defines=tuple(defines),
        device=device_named(device),
    )
    if data_dir is None:
        return request, request.folders()
    folder = Path(data_dir).absolute()
    if not folder.is_dir():
        raise OptionError(f"there is no folder {data_dir}", fix="data_dir is where inputs are")
    return request, [folder, folder.parent]


def _run(
    program: Program, environment: Mapping[str, str], costs: Mapping[str, float], scratch: Path,
    timeout_s: float,
) -> tuple[Fields, str]:  # fmt: skip
    result, table = scratch / "result.json", scratch / "costs.txt"
    result.touch()
    table.write_text("".join(f"{k} = {v!r}\n" for k, v in costs.items()), encoding="utf-8")
    variables = {
        **os.environ, **environment, "AIESIM_RESULT": str(result), "AIESIM_COSTS": str(table),
    }  # fmt: skip
    with (scratch / "log").open("w+b") as log:
        try:
            done = subprocess.run(
                [str(program.path)], stdout=log, stderr=subprocess.STDOUT, check=False,
                env=variables, timeout=timeout_s, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise SimulationError(
                f"the simulation did not end within {timeout_s:g} s",
                why="a kernel loops without end, or graph.run(-1) has no input that ends",
                fix="fewer iterations (--iterations N), or a longer timeout",
            ) from error
        log.seek(0)
        text = log.read(LOG_BYTES).decode(errors="replace")
    document = read_document(result)
    if document is None:
        raise SimulationError(
            f"the simulation ended with code {done.returncode} and without a result",
            why=text.strip()[-2000:],
        )
    return document, text


def _raise_faults(document: Fields, toolchain: Toolchain, program: Program) -> None:
    status = document.get("status", str)
    lines = faults.Lines(toolchain, program.path)
    if status == "stopped":
        raise faults.stopped(document, lines)
    if status == "failed":
        raise faults.failed(document, lines)
    if status == "rejected":
        raise faults.rejected(document)


def _output(out: Path, file: str) -> Path:
    parts = [part for part in Path(file).parts if part not in ("..", "/", ".")]
    return out.joinpath(*parts)


def _warnings(kernels: Sequence[KernelAccount], data_bytes: int) -> list[str]:
    found = []
    ratios: dict[tuple[int, int], float] = {}
    for kernel in kernels:
        if kernel.narrowed_in_default_modes:
            found.append(
                f"{kernel.name} narrows {kernel.narrowed_in_default_modes:g} vectors in the "
                "default modes, which round down and do not saturate; set them in the kernel"
            )
        if kernel.stack_bytes > data_bytes:
            found.append(
                f"{kernel.name} used {kernel.stack_bytes} bytes of stack on this machine, a tile "
                f"has {data_bytes} bytes of memory in all"
            )
        if kernel.tile is not None:
            ratios[kernel.tile] = ratios.get(kernel.tile, 0.0) + kernel.runtime_ratio
    found += [
        f"the kernels on tile {tile} have runtime ratios of {ratio:.2f} together, more than 1"
        for tile, ratio in ratios.items()
        if ratio > 1 + 1e-9
    ]
    return found
