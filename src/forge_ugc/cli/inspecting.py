"""`forge-ugc inspect`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forge_ugc.cli import models
from forge_ugc.errors import OptionError

if TYPE_CHECKING:
    from forge_ugc import Options
    from forge_ugc.loaders import LoadedModel


class Stage(str, Enum):
    """How far a model goes before it is printed."""

    CAPTURED = "captured"
    OPTIMIZED = "optimized"
    LOWERED = "lowered"
    SCHEDULED = "scheduled"


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL|FILE.forge", show_default=False)],
    stage: Annotated[
        Stage, typer.Option(help="captured, optimized: the graph; lowered, scheduled: NPUIR.")
    ] = Stage.SCHEDULED,
    target: models.Target = "cpu",
    tokens: models.Tokens = 128,
    dtype: models.DTypeName = None,
    seed: models.Seed = 0,
    layers: models.Layers = None,
    passes: models.Passes = None,
    disable: models.Disable = None,
    fusion: models.Fusion = 1.0,
    precision: models.Precision = None,
) -> None:
    """Print the graph or the NPUIR program of a model or a .forge file."""
    if models.is_artifact(model):
        if stage is not Stage.SCHEDULED:
            raise OptionError(
                f"{model} holds no {stage.value} form",
                why="a .forge file keeps the scheduled program alone",
                fix=f"name the model: forge-ugc inspect MODEL --stage {stage.value}",
            )
        from forge_ugc.artifact import read_artifact
        from forge_ugc.npuir.printer import print_program

        _echo(print_program(read_artifact(Path(model)).program))
        return
    options = models.make_options(
        passes=passes, disable=disable, fusion=fusion, precision=precision
    )
    source = models.Source(spec=model, tokens=tokens, dtype=dtype, seed=seed, layers=layers)
    _echo(stage_text(source.load(), stage, target, options))


def stage_text(loaded: LoadedModel, stage: Stage, target: str, options: Options) -> str:
    """A model's text form after one stage."""
    from forge_ugc import backends
    from forge_ugc.capture import capture
    from forge_ugc.lowering import lower
    from forge_ugc.npuir.printer import print_program
    from forge_ugc.passes.pass_manager import PassManager
    from forge_ugc.passes.text import format_graph

    if stage is Stage.SCHEDULED:
        return print_program(models.compile_loaded(loaded, target, options).program)
    backend = backends.get(target)
    captured = capture(loaded.module, loaded.args, loaded.kwargs)
    if stage is not Stage.CAPTURED:
        PassManager(options).run(captured.graph_module)
    if stage is not Stage.LOWERED:
        return format_graph(captured.graph_module)
    return print_program(lower(captured, backend, type(loaded.module).__name__).program)


def _echo(text: str) -> None:
    typer.echo(text, nl=not text.endswith("\n"))
