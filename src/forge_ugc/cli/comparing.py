"""`forge-ugc bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from forge_ugc.cli import models
from forge_ugc.cli.console import emit_json, err, out
from forge_ugc.errors import OptionError

if TYPE_CHECKING:
    from forge_ugc.evaluation.side_by_side import Comparison


def bench(
    model: models.Model,
    against: Annotated[
        str,
        typer.Option(
            help="Engines, separated by commas: openvino, openvino_onnx (through an ONNX file), "
            "onnxruntime, eager, inductor. Default: all."
        ),
    ] = "",
    precision: Annotated[str, typer.Option(help="Of every engine: fp32, bf16 or int8.")] = "fp32",
    threads: Annotated[
        int | None, typer.Option(help="Of every engine. Default: as PyTorch uses.", min=1)
    ] = None,
    tokens: models.Tokens = 128,
    layers: models.Layers = None,
    runs: Annotated[int, typer.Option(help="Timed calls of each engine.", min=1)] = 50,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write an HTML page as well.")
    ] = None,
    json: models.AsJson = False,
) -> None:
    """Measure a model on our engine beside others: compile time, speed, memory, fidelity.

    Every engine builds the model in a process of its own, from the same module
    in float32, with the same precision and number of threads, and has built a
    tiny model before. They run in turn, in blocks of five calls. "First call"
    is what the first call takes longer than the next ones. An engine that is
    not installed or fails is listed with its message. Exit code 1 if ours fails.
    """
    import torch

    from forge_ugc.evaluation.side_by_side import (
        Question,
        compare_engines,
        comparison_document,
    )

    if output is not None and not output.absolute().parent.is_dir():
        raise OptionError(f"cannot write {output}", why="its folder does not exist")
    question = Question(
        model=model, against=tuple(filter(None, against.replace(" ", "").split(","))),
        precision=precision, threads=threads or torch.get_num_threads(), tokens=tokens,
        layers=layers, runs=runs,
    )  # fmt: skip
    with _progress() as say:
        comparison = compare_engines(question, say)
    if output is not None:
        output.write_text(_page(comparison), encoding="utf-8")
    if json:
        emit_json(comparison_document(comparison))
    else:
        _show(comparison)
        if output is not None:
            out.print(f"wrote {output}", highlight=False, markup=False)
    if comparison.lines[0].failure is not None:
        raise typer.Exit(1)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A line on stderr that changes, or lines one below another where that is no terminal."""
    if not err.is_terminal:
        yield lambda text: err.print(text, highlight=False, markup=False)
        return
    with err.status("starting") as status:
        yield lambda text: status.update(escape(text))


def _show(comparison: Comparison) -> None:
    from forge_ugc.evaluation.comparison_tables import comparison_tables, setup_text
    from forge_ugc.report.formatting import plain_table

    out.print(setup_text(comparison), highlight=False, markup=False)
    out.print(", ".join(comparison.machine.values()), highlight=False, markup=False)
    for table in comparison_tables(comparison):
        numbers = table.title != "Not measured"
        left = table.heads[:1] if numbers else table.heads
        shown = plain_table(table.title, left, table.heads[len(left) :])
        for row in table.rows:
            shown.add_row(*map(escape, row))
        out.print(shown)


def _page(comparison: Comparison) -> str:
    from forge_ugc.evaluation.comparison_page import comparison_page

    return comparison_page(comparison)
