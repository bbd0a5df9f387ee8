"""`forge-ugc compile`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forge_ugc.cli import models
from forge_ugc.cli.console import emit_json, out, working
from forge_ugc.errors import OptionError


def compile_model(
    model: models.Model,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a .forge file.")
    ] = None,
    target: models.Target = "cpu",
    tokens: models.Tokens = 128,
    dtype: models.DTypeName = None,
    seed: models.Seed = 0,
    layers: models.Layers = None,
    passes: models.Passes = None,
    disable: models.Disable = None,
    fusion: models.Fusion = 1.0,
    precision: models.Precision = None,
    repeated_blocks: models.RepeatedBlocks = "auto",
    verify_passes: Annotated[
        bool, typer.Option("--verify-passes", help="Run the graph before and after every pass.")
    ] = False,
    dump_ir: Annotated[
        Path | None, typer.Option(help="Folder for the graph and program of every step.")
    ] = None,
    json: models.AsJson = False,
) -> None:
    """Compile a model and show what every phase and pass did."""
    if output is not None and not output.absolute().parent.is_dir():
        raise OptionError(f"cannot write {output}", why="its folder does not exist")
    options = models.make_options(
        passes=passes, disable=disable, fusion=fusion, precision=precision,
        verify_passes=verify_passes, dump_ir=dump_ir, repeated_blocks=repeated_blocks,
    )  # fmt: skip
    source = models.Source(spec=model, tokens=tokens, dtype=dtype, seed=seed, layers=layers)
    loaded = source.load()
    compiled = models.compile_loaded(loaded, target, options)
    if output is not None:
        with working(f"writing {output}"):
            compiled.save(output)
    from forge_ugc.report.document import result_document
    from forge_ugc.report.text import report_tables

    if json:
        document = result_document(compiled.result)
        document["source"] = loaded.description
        document["output"] = None if output is None else str(output)
        emit_json(document)
        return
    out.print(loaded.description, highlight=False, markup=False)
    out.print(*report_tables(compiled.result), sep="\n")
    if output is not None:
        out.print(f"wrote {output}", highlight=False, markup=False)
