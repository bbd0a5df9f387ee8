"""`forge-ugc run`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forge_ugc.cli import models
from forge_ugc.cli.console import emit_json, out, working
from forge_ugc.errors import ArtifactError, OptionError

if TYPE_CHECKING:
    import torch

    from forge_ugc import CompiledModel, Options
    from forge_ugc.loaders import LoadedModel
    from forge_ugc.loaders.loaded import Tokenizer
    from forge_ugc.report.document import Json


Profiled = Annotated[bool, typer.Option("--profile", help="Show where the time of a call goes.")]
Trace = Annotated[
    Path | None,
    typer.Option(help="With --profile: write a trace for Perfetto or chrome://tracing."),
]


def run(
    model: Annotated[str, typer.Argument(metavar="MODEL|FILE.forge", show_default=False)],
    prompt: Annotated[
        str | None, typer.Option(help="Continue this text, greedily, the prefix recomputed.")
    ] = None,
    max_new_tokens: Annotated[int, typer.Option(help="For --prompt.", min=1)] = 64,
    tokenizer: Annotated[
        str | None, typer.Option(help="Model whose tokenizer to use, for a .forge file.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="A .safetensors file of inputs by argument name.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write outputs as .safetensors.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Also run the model eagerly and compare.")
    ] = False,
    profile: Profiled = False,
    trace: Trace = None,
    target: models.Target = "cpu",
    tokens: Annotated[
        int | None,
        typer.Option(help="Length of the input; default: what the prompt needs, or 128."),
    ] = None,
    dtype: models.DTypeName = None,
    seed: models.Seed = 0,
    layers: models.Layers = None,
    precision: models.Precision = None,
    json: models.AsJson = False,
) -> None:
    """Compile and run a model, or run a .forge file: on a prompt, a file, or example inputs."""
    if prompt is not None and (inputs is not None or output is not None or check or profile):
        raise OptionError("--prompt goes without --inputs, --output, --check and --profile")
    if trace is not None and not profile:
        raise OptionError("--trace needs --profile", fix=f"--profile --trace {trace}")
    options = models.make_options(precision=precision)
    loaded, compiled = None, None
    if models.is_artifact(model):
        if check:
            raise OptionError("--check needs the model, not a .forge file", fix="name the model")
        _refuse_for_artifacts(
            target=target, tokens=tokens, dtype=dtype, seed=seed, layers=layers, precision=precision
        )
        compiled = _load(model)
    source = models.Source(spec=model, tokens=tokens or 128, dtype=dtype, seed=seed, layers=layers)
    if prompt is not None:
        wanted = _Wanted(prompt, max_new_tokens, tokens)
        document = _generate(source, compiled, tokenizer, wanted, target, options, quiet=json)
    else:
        if compiled is None:
            loaded = source.load()
            compiled = models.compile_loaded(loaded, target, options)
        args, kwargs = _arguments(loaded, compiled, inputs)
        document = _call(loaded, compiled, args, kwargs, output, check, quiet=json)
        if profile:
            document["profile"] = _profile(compiled, args, kwargs, trace, quiet=json)
    if json:
        emit_json(document)


def _load(path: str) -> CompiledModel:
    import forge_ugc

    with working(f"loading {path}"):
        return forge_ugc.load(path)


def _refuse_for_artifacts(**given: object) -> None:
    """Raise if an option was given that was settled when the file was compiled."""
    for name, value in given.items():
        if value not in (None, 0, "cpu"):  # the defaults
            raise OptionError(
                f"--{name} {value} does not apply to a .forge file",
                why="the file holds one compiled program with its weights",
                fix="leave it out, or compile the model again with it",
            )


class _Wanted:
    """A prompt, and how much text to make of it."""

    def __init__(self, prompt: str, max_new_tokens: int, tokens: int | None) -> None:
        self.prompt, self.max_new_tokens, self.tokens = prompt, max_new_tokens, tokens

    def encode(self, tokenizer: Tokenizer) -> list[int]:
        """Token ids of the prompt."""
        return list(tokenizer.encode(self.prompt))


def _generate(
    source: models.Source, compiled: CompiledModel | None, tokenizer_name: str | None,
    wanted: _Wanted, target: str, options: Options, *, quiet: bool,
) -> dict[str, Json]:  # fmt: skip
    from dataclasses import replace

    from forge_ugc.evaluation.generate import TextStream, greedy
    from forge_ugc.loaders.tokenizers import load_tokenizer

    if compiled is not None:
        if tokenizer_name is None:
            raise OptionError(
                f"{source.spec} has no tokenizer", why="a .forge file holds the program alone",
                fix="name the model it came from, such as --tokenizer smollm2",
            )  # fmt: skip
        tokenizer = load_tokenizer(tokenizer_name)
        ids = wanted.encode(tokenizer)
        window = _window(compiled)
    else:
        tokenizer = load_tokenizer(tokenizer_name or source.spec)
        ids = wanted.encode(tokenizer)
        window = wanted.tokens or len(ids) + wanted.max_new_tokens
        loaded = replace(source, tokens=window).load()
        compiled = models.compile_loaded(loaded, target, options)
    write: Callable[[str], None] = (
        (lambda text: None) if quiet else (lambda text: typer.echo(text, nl=False))
    )
    stream = TextStream(tokenizer.decode, write)
    write(wanted.prompt)
    stop = () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
    made = greedy(
        compiled, ids, window=window, max_new_tokens=wanted.max_new_tokens, stop_tokens=stop,
        on_token=stream.add,
    )  # fmt: skip
    stream.close()
    write(f"\n\n{len(made.tokens)} tokens, {made.tokens_per_second:.2f} tokens/s\n")
    return {
        "version": 1,
        "model": source.spec,
        "prompt": wanted.prompt,
        "text": tokenizer.decode(list(made.tokens)),
        "prompt_tokens": list(ids),
        "tokens": list(made.tokens),
        "step_seconds": list(made.step_seconds),
        "tokens_per_second": made.tokens_per_second,
    }


def _window(compiled: CompiledModel) -> int:
    types = compiled.signature.types
    if len(types) == 1 and types[0].rank == 2 and types[0].shape[0] == 1:
        return types[0].shape[1]
    raise OptionError(
        "the program does not take token ids alone",
        why=f"it takes {compiled.signature.describe()}",
        fix="run it with --inputs",
    )


def _arguments(
    loaded: LoadedModel | None, compiled: CompiledModel, inputs: Path | None
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    if inputs is not None:
        return (), _read_tensors(inputs)
    if loaded is not None:
        return loaded.args, loaded.kwargs
    if compiled.signature.types:
        raise OptionError(
            "a .forge file needs inputs", why=f"it takes {compiled.signature.describe()}",
            fix="give --inputs FILE.safetensors, or --prompt for a language model",
        )  # fmt: skip
    return (), {}


def _profile(
    compiled: CompiledModel, args: tuple[Any, ...], kwargs: Mapping[str, Any],
    trace: Path | None, *, quiet: bool,
) -> dict[str, Json]:  # fmt: skip
    with working("profiling"):
        found = compiled.profile_calls(args, kwargs)
    if trace is not None:
        found.save_trace(trace)
    if not quiet:
        from forge_ugc.profiling.tables import profile_tables

        for table in profile_tables(found):
            out.print(table)
    return found.to_json()


def _call(
    loaded: LoadedModel | None, compiled: CompiledModel, args: tuple[Any, ...],
    kwargs: Mapping[str, Any], output: Path | None, check: bool, *, quiet: bool,
) -> dict[str, Json]:  # fmt: skip
    import torch

    from forge_ugc.evaluation.outputs import named_tensors

    with torch.inference_mode():
        start = time.perf_counter()
        result = compiled(*args, **kwargs)
        seconds = time.perf_counter() - start
        found = dict(named_tensors(result))
        eager = dict(named_tensors(loaded.module(*args, **kwargs))) if check and loaded else {}
    rows = [_row(name, tensor, eager.get(name)) for name, tensor in found.items()]
    if output is not None:
        _write_tensors(output, found)
    if not quiet:
        _show(rows, seconds, check)
    return {"version": 1, "seconds": seconds, "outputs": [dict(row) for row in rows]}


def _row(name: str, tensor: torch.Tensor, eager: torch.Tensor | None) -> dict[str, Json]:
    from forge_ugc.ops.core.torch_types import type_of

    row: dict[str, Json] = {"name": name, "type": str(type_of(tensor))}
    if tensor.numel() and not tensor.is_complex():
        values = tensor.double()
        row |= {
            "min": float(values.min()), "max": float(values.max()), "mean": float(values.mean()),
        }  # fmt: skip
    if eager is not None:
        difference = (tensor.double() - eager.double()).abs()
        row["max_abs_difference"] = float(difference.max()) if tensor.numel() else 0.0
    return row


def _show(rows: list[dict[str, Json]], seconds: float, check: bool) -> None:
    from forge_ugc.report.formatting import plain_table, seconds_text

    columns = ["min", "max", "mean"] + ["max_abs_difference"] * check
    table = plain_table("Outputs", ("name", "type"), [c.replace("_", " ") for c in columns])
    for row in rows:
        numbers = [f"{row[c]:.4g}" if c in row else "" for c in columns]
        table.add_row(str(row["name"]), str(row["type"]).replace("[", r"\["), *numbers)
    out.print(table)
    out.print(f"one call took {seconds_text(seconds)}", highlight=False)


def _read_tensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ArtifactError(
            f"cannot read the inputs {path}", why=str(error),
            fix="write them with safetensors.torch.save_file, named as the arguments of forward",
        ) from error  # fmt: skip


def _write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    from safetensors.torch import save_file

    try:
        save_file({name: t.clone().contiguous() for name, t in tensors.items()}, path)
    except OSError as error:
        raise ArtifactError(f"cannot write {path}", why=str(error)) from error
