"""`forge-ugc opt`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forge_ugc.cli import models
from forge_ugc.cli.console import err
from forge_ugc.errors import ArtifactError, OptionError

if TYPE_CHECKING:
    from forge_ugc.loaders import LoadedModel
    from forge_ugc.npuir.program import Program

PROGRAM_PASSES = ("verify", "schedule", "allocate")


def opt(
    file: Annotated[str, typer.Argument(metavar="FILE.npuir|FILE.pt2|MODEL", show_default=False)],
    passes: Annotated[
        list[str], typer.Option("-p", "--pass", help="A pass; repeat for several, in order.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the text here.")
    ] = None,
    tokens: models.Tokens = 128,
    layers: models.Layers = None,
    verify_passes: Annotated[
        bool, typer.Option("--verify-passes", help="Run the graph before and after every pass.")
    ] = False,
) -> None:
    """Run single passes over a program, an exported program or a model, and print the result.

    A .npuir file takes the passes verify, schedule and allocate. A .pt2 file (torch.export.save)
    or a model takes graph passes such as dead-code or fuse-attention. Each runs once.
    """
    if file.endswith(".npuir"):
        text = _over_program(Path(file), passes)
    else:
        loaded = models.Source(spec=file, tokens=tokens, layers=layers).load()
        text = _over_graph(loaded, passes, verify_passes)
    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        output.write_text(text, encoding="utf-8")


def _over_program(path: Path, passes: list[str]) -> str:
    from forge_ugc.npuir.parser import parse_program
    from forge_ugc.npuir.printer import print_program

    known = _program_passes()
    for name in passes:
        if name not in known:
            raise OptionError(
                f"no pass over programs is called {name!r}",
                fix=f"choose from {', '.join(PROGRAM_PASSES)}; graph passes need a .pt2 or a model",
            )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArtifactError(f"cannot read {path}", why=str(error)) from error
    program = parse_program(text)
    for name in passes:
        program = known[name](program)
    return print_program(program)


def _program_passes() -> dict[str, Callable[[Program], Program]]:
    from forge_ugc.npuir.verifier import verify
    from forge_ugc.ops.core.infer import infer
    from forge_ugc.schedule.linear_scan import allocate
    from forge_ugc.schedule.scheduler import schedule

    def check(program: Program) -> Program:
        verify(program, infer)
        err.print("verify: every rule holds", highlight=False)
        return program

    def order(program: Program) -> Program:
        program, stats = schedule(program)
        err.print(
            f"schedule: {stats.transitions_before} -> {stats.transitions_after} device transitions",
            highlight=False,
        )
        return program

    def place(program: Program) -> Program:
        program, stats = allocate(program)
        err.print(
            f"allocate: {stats.registers} registers -> {stats.buffers} buffers, "
            f"{stats.peak_bytes:,} bytes (largest live set {stats.lower_bound_bytes:,})",
            highlight=False,
        )
        return program

    return dict(zip(PROGRAM_PASSES, (check, order, place), strict=True))


def _over_graph(loaded: LoadedModel, passes: list[str], verify: bool) -> str:
    from forge_ugc import Options
    from forge_ugc.capture import capture
    from forge_ugc.passes.pass_manager import PassManager
    from forge_ugc.passes.text import format_graph
    from forge_ugc.report.grouping import node_count

    options = Options(passes=tuple(passes), max_rounds=1, verify_passes=verify)
    manager = PassManager(options)
    captured = capture(loaded.module, loaded.args, loaded.kwargs)
    inputs = captured.signature.flatten(loaded.args, loaded.kwargs) if verify else None
    for run in manager.run(captured.graph_module, inputs).runs:
        checked = "" if run.max_abs_difference is None else (
            f", max-abs difference {run.max_abs_difference:.1e}"
        )  # fmt: skip
        err.print(
            f"{run.name}: {run.changed} rewrites, {node_count(run.before)} -> "
            f"{node_count(run.after)} nodes{checked}",
            highlight=False,
        )
    return format_graph(captured.graph_module)
