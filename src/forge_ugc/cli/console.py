"""Output of the command line: text to stdout, progress and errors to stderr."""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from forge_ugc.errors import ForgeError

if TYPE_CHECKING:
    from forge_ugc.report.document import Json

P = ParamSpec("P")
T = TypeVar("T")
FILE_WIDTH = 120
"""Columns of tables that go into a file or a pipe."""

show_tracebacks: ContextVar[bool] = ContextVar("show_tracebacks", default=False)
"""Set by `--debug`."""

out = Console(width=None if sys.stdout.isatty() else FILE_WIDTH)
err = Console(stderr=True, width=None if sys.stderr.isatty() else FILE_WIDTH)


def emit_json(document: Json) -> None:
    """Print one JSON document on stdout; numbers that JSON lacks become null."""
    typer.echo(json.dumps(_finite(document), indent=2))


def _finite(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


def guarded(function: Callable[P, T]) -> Callable[P, T]:
    """A command that shows a `ForgeError` in red and exits with 1; `--debug` lets it through.

    So does an `OSError`: a file that cannot be read or written.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BrokenPipeError:  # the reader went away, as in `| head`
            raise
        except (ForgeError, OSError) as error:
            if show_tracebacks.get():
                raise
            show_error(error)
            raise typer.Exit(1) from error

    return run


def show_error(error: ForgeError | OSError) -> None:
    """Print what, and where, why and fix if there are any, on stderr."""
    what, _, rest = str(error).partition("\n")
    err.print(Text(f"{type(error).__name__}: {what}", style="bold red"), soft_wrap=True)
    if rest:
        err.print(Text(rest), soft_wrap=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner on stderr, if that is a terminal."""
    if err.is_terminal:
        with err.status(text):
            yield
    else:
        yield


@contextmanager
def phase_progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A progress bar over the phases of a compilation, if stderr is a terminal."""
    if not err.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description:12}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("compile", total=None)

        def report(phase: str, done: int, total: int) -> None:
            progress.update(task, description=phase, completed=done, total=total)

        yield report
