"""`forge-ugc aie`: work on designs for AI Engines."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forge_ugc.cli import calibrating, models
from forge_ugc.cli.console import emit_json, err, guarded, out

if TYPE_CHECKING:
    from forge_ugc.backends.aie.simulator import SimulationResult
    from forge_ugc.report.document import Json

app = typer.Typer(
    name="aie",
    no_args_is_help=True,
    help="Work on designs for AMD Versal AI Engines; no AMD tools are needed.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_EXAMPLES = (
    "forge-ugc aie sim aie/graph.cpp",
    "forge-ugc aie sim aie/graph.cpp -I common --data aie/data --out results",
    "forge-ugc aie sim aie/graph.cpp --iterations 8 --device vek280 --trace trace.json",
)


def sim(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH.cpp", show_default=False)],
    include: Annotated[
        list[Path] | None, typer.Option("-I", "--include", help="Folder of headers and sources.")
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("-D", "--define", help="Macro, NAME or NAME=VALUE.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the PLIO input files.")] = None,
    output: Annotated[Path, typer.Option("--out", help="Folder for the PLIO output files.")] = Path(
        "aiesim_output"
    ),
    iterations: Annotated[
        int | None, typer.Option(help="Instead of those of every graph.run.", min=1)
    ] = None,
    device: Annotated[str, typer.Option(help="vck190 or vek280.")] = "vck190",
    costs: Annotated[
        Path | None, typer.Option(help="Figures of the cycle model, lines `name = number`.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that the run may take.")] = 600.0,
    time_stamps: Annotated[
        bool, typer.Option("--time-stamps", help="Write `T ... ns` lines into outputs.")
    ] = False,
    trace: Annotated[
        Path | None, typer.Option(help="Write a trace for Perfetto or chrome://tracing.")
    ] = None,
    json: models.AsJson = False,
) -> None:
    """Compile an ADF graph as it is, run it on this machine, and account for every tile.

    Cycles are estimates of a model, and nothing is compared with AMD's tools: see
    docs/aie-simulator.md.
    """
    from forge_ugc.backends.aie.simulator import simulate
    from forge_ugc.backends.aie.simulator.trace import chrome_trace

    with _progress() as report:
        found = simulate(
            graph, include_dirs=include or (), defines=define or (), data_dir=data,
            out_dir=output, device=device, iterations=iterations,
            costs=None if costs is None else _read_costs(costs), timeout_s=timeout,
            time_stamps=time_stamps, progress=report,
        )  # fmt: skip
    if trace is not None:
        trace.write_text(json_text.dumps(chrome_trace(found)), encoding="utf-8")
    if json:
        emit_json(_document(found))
    else:
        _show(found)
    if found.exit_code:
        raise typer.Exit(1)


app.command("sim", epilog="\n\n".join(("Examples:", *_EXAMPLES)))(guarded(sim))
app.command("calibrate", epilog="Examples:\n\nforge-ugc aie calibrate --json")(
    guarded(calibrating.calibrate)
)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """The stage on stderr, if that is a terminal."""
    if not err.is_terminal:
        yield None
        return
    with err.status("prepare") as status:

        def report(stage: str, done: int, total: int) -> None:
            status.update(stage if total <= 1 else f"{stage} {done + 1}/{total}")

        yield report


def _read_costs(path: Path) -> dict[str, float]:
    from forge_ugc.backends.aie.simulator.costs_file import read_costs

    return read_costs(path)


def _show(found: SimulationResult) -> None:
    from rich.markup import escape

    from forge_ugc.report.formatting import plain_table

    if found.log.strip():
        out.print(found.log.rstrip(), highlight=False, markup=False)
    columns = ("iterations", "cycles", "busy", "stalled", "interval", "waits most for")
    table = plain_table("Kernels (cycles of the model)", ("kernel", "tile"), columns)
    for k in found.kernels:
        worst = max(k.ports, key=lambda port: port.stall_cycles, default=None)
        waits = f"{worst.peer} at {worst.port}" if worst and worst.stall_cycles > 0 else ""
        interval = k.initiation_interval
        table.add_row(
            escape(k.name), "" if k.tile is None else f"{k.tile[0]},{k.tile[1]}",
            str(k.iterations), f"{k.end_cycle - k.start_cycle:.0f}", f"{k.busy_cycles:.0f}",
            f"{k.stalled_cycles:.0f}", "" if interval is None else f"{interval:.0f}",
            escape(waits),
        )  # fmt: skip
    out.print(table)
    ports = plain_table("PLIO", ("port", "file"), ("bits", "words", "first", "last"))
    for p in found.plios:
        shown = str(found.outputs[p.name]) if p.name in found.outputs else p.file
        ports.add_row(escape(p.name), escape(shown), str(p.bits), str(p.words),
                      f"{p.first_cycle:.0f}", f"{p.last_cycle:.0f}")  # fmt: skip
    out.print(ports)
    for label, cycles in (
        ("first word in to first word out", found.latency_cycles),
        ("from one iteration to the next", found.interval_cycles),
    ):
        if cycles is not None:
            micros = found.seconds(cycles) * 1e6
            out.print(f"{label}: {cycles:.0f} cycles, {micros:.3f} us (model)", highlight=False)
    for warning in found.warnings:
        out.print(f"[yellow]warning:[/] {escape(warning)}", highlight=False)
    out.print(
        f"built in {found.build_seconds:.1f} s, ran in {found.run_seconds:.2f} s", highlight=False
    )


def _document(found: SimulationResult) -> dict[str, Json]:
    return {
        "version": 1,
        "graph": str(found.graph),
        "device": found.device,
        "clock_hz": found.clock_hz,
        "exit_code": found.exit_code,
        "log": found.log,
        "outputs": {name: str(path) for name, path in found.outputs.items()},
        "latency_cycles": found.latency_cycles,
        "interval_cycles": found.interval_cycles,
        "build_seconds": found.build_seconds,
        "run_seconds": found.run_seconds,
        "warnings": list(found.warnings),
        "kernels": [
            {
                "name": k.name,
                "source": k.source,
                "tile": None if k.tile is None else list(k.tile),
                "iterations": k.iterations,
                "start_cycle": k.start_cycle,
                "end_cycle": k.end_cycle,
                "busy_cycles": k.busy_cycles,
                "stalled_cycles": k.stalled_cycles,
                "initiation_interval": k.initiation_interval,
                "slots": dict(k.slots),
                "macs": k.macs,
                "stack_bytes": k.stack_bytes,
                "ports": [
                    {
                        "port": port.port,
                        "peer": port.peer,
                        "unit": port.unit,
                        "count": port.count,
                        "stall_cycles": port.stall_cycles,
                    }
                    for port in k.ports
                ],
            }
            for k in found.kernels
        ],
        "plios": [
            {
                "name": p.name,
                "file": p.file,
                "is_input": p.is_input,
                "bits": p.bits,
                "words": p.words,
                "total_words": p.total_words,
                "first_cycle": p.first_cycle,
                "last_cycle": p.last_cycle,
                "iteration_ends": list(p.iteration_ends),
            }
            for p in found.plios
        ],
    }
