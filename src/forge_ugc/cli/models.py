"""Options that name models and compilations, and how they become objects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forge_ugc.cli.console import phase_progress, working
from forge_ugc.errors import OptionError

if TYPE_CHECKING:
    import torch

    from forge_ugc import CompiledModel, Options
    from forge_ugc.loaders import LoadedModel

MODEL_HELP = "smollm2, a folder or id, FILE.gguf, shape:NAME ...; see forge-ugc --help."
Model = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]
Target = Annotated[str, typer.Option(help="Where to run; see `forge-ugc devices`.")]
Tokens = Annotated[int, typer.Option(help="Length of the input.", min=1)]
DTypeName = Annotated[
    str | None,
    typer.Option("--dtype", help="Weights: f32, bf16, f16 or f64. Default: the model's."),
]
Seed = Annotated[int, typer.Option(help="Seed of random weights and inputs.")]
Layers = Annotated[
    int | None, typer.Option(help="Number of layers, for models with random weights.", min=1)
]
Passes = Annotated[
    str | None, typer.Option(help="Passes in order, separated by commas. Default: all.")
]
Disable = Annotated[
    list[str] | None, typer.Option(help="A pass or a rewrite to leave out. Repeatable.")
]
Precision = Annotated[
    str | None,
    typer.Option(
        help="What matrix products and attention compute in: fp32, bf16 or int8. "
        "Default: the model's own types."
    ),
]
RepeatedBlocks = Annotated[
    str,
    typer.Option(help="Trace equal blocks once: auto, off, or verify (also compares)."),
]
Fusion = Annotated[float, typer.Option("--fusion", help="Fusion aggressiveness.", min=0.0, max=1.0)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which model to load, as given on the command line."""

    spec: str
    tokens: int = 128
    dtype: str | None = None
    seed: int = 0
    layers: int | None = None

    def load(self) -> LoadedModel:
        """Load it.

        Raises:
            OptionError, ArtifactError: see `load_model`.
        """
        with working(f"loading {self.spec}"):
            from forge_ugc.loaders import load_model

            return load_model(
                self.spec,
                tokens=self.tokens,
                dtype=parse_dtype(self.dtype),
                seed=self.seed,
                layers=self.layers,
            )


def parse_dtype(name: str | None) -> torch.dtype | None:
    """`f32`, `float32` and so on.

    Raises:
        OptionError: not a floating-point type of ours.
    """
    import torch

    known = {
        "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64,
    }  # fmt: skip
    known |= {str(dtype).removeprefix("torch."): dtype for dtype in known.values()}
    if name is None:
        return None
    if name not in known:
        raise OptionError(f"no dtype is called {name!r}", fix="choose from f32, bf16, f16, f64")
    return known[name]


def make_options(
    *,
    passes: str | None = None,
    disable: list[str] | None = None,
    fusion: float = 1.0,
    precision: str | None = None,
    verify_passes: bool = False,
    dump_ir: Path | None = None,
    repeated_blocks: str = "auto",
) -> Options:
    """Options of a compilation from those of the command line.

    Raises:
        OptionError: no pass, precision or way with repeated blocks has that name.
    """
    from forge_ugc import Options

    names = None if passes is None else tuple(filter(None, passes.replace(" ", "").split(",")))
    return Options(
        passes=names,
        disable=frozenset(disable or ()),
        fusion_aggressiveness=fusion,
        precision=precision,
        verify_passes=verify_passes,
        dump_ir=dump_ir,
        repeated_blocks=repeated_blocks,
    )


def compile_loaded(loaded: LoadedModel, target: str, options: Options) -> CompiledModel:
    """Compile with a progress bar."""
    from dataclasses import replace

    import forge_ugc

    with phase_progress() as progress:
        return forge_ugc.compile(
            loaded.module,
            loaded.args,
            loaded.kwargs,
            target=target,
            options=replace(options, progress=progress),
            weights=loaded.weights,
        )


def is_artifact(spec: str) -> bool:
    """True for a path that ends in `.forge`."""
    return spec.endswith(".forge")
