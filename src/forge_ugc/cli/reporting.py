"""`forge-ugc report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from forge_ugc.cli import models
from forge_ugc.cli.console import out, working
from forge_ugc.errors import OptionError


def report(
    model: models.Model,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path(
        "report.html"
    ),
    profile: Annotated[
        bool, typer.Option("--profile", help="Also run the model, for its kernels' roofline.")
    ] = False,
    target: models.Target = "cpu",
    tokens: models.Tokens = 128,
    dtype: models.DTypeName = None,
    seed: models.Seed = 0,
    layers: models.Layers = None,
    passes: models.Passes = None,
    disable: models.Disable = None,
    fusion: models.Fusion = 1.0,
    precision: models.Precision = None,
    verify_passes: Annotated[
        bool, typer.Option("--verify-passes", help="Run the graph before and after every pass.")
    ] = False,
) -> None:
    """Compile a model and write one HTML page of all that was done to it.

    The page needs no network: open it from the disk, send it, print it.
    """
    if not output.absolute().parent.is_dir():
        raise OptionError(f"cannot write {output}", why="its folder does not exist")
    options = models.make_options(
        passes=passes, disable=disable, fusion=fusion, precision=precision,
        verify_passes=verify_passes,
    )  # fmt: skip
    source = models.Source(spec=model, tokens=tokens, dtype=dtype, seed=seed, layers=layers)
    loaded = source.load()
    compiled = models.compile_loaded(loaded, target, replace(options, keep_graphs=True))
    found = None
    if profile:
        with working("profiling"):
            found = compiled.profile_calls(loaded.args, loaded.kwargs)
    compiled.report_html(output, profile=found, source=loaded.description)
    out.print(f"wrote {output}", highlight=False, markup=False)
