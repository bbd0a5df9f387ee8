"""Models of Hugging Face: by id, by folder, or by configuration alone."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from forge_ugc.errors import OptionError
from forge_ugc.loaders import random_weights
from forge_ugc.loaders.example_inputs import example_inputs
from forge_ugc.loaders.loaded import LoadedModel, Request, Tokenizer, need

_WEIGHT_FILES = ("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin")
_TOKENIZER_FILES = ("tokenizer*", "vocab.*", "*.model", "*.tiktoken")
# What transformers raises for a missing, unreachable or malformed repository or configuration.
_LOAD_ERRORS = (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError)


def load(spec: str, request: Request) -> LoadedModel:
    """A model by Hugging Face id or local folder, with its tokenizer if it has one.

    Raises:
        OptionError: it cannot be found, reached or read, or transformers does not know it.
    """
    folder = Path(spec).expanduser()
    if folder.is_dir() and not any(any(folder.glob(p)) for p in _WEIGHT_FILES):
        return load_config(folder, request)
    request.refuse(f"the released weights of {spec}", "layers", "empty", "lazy")
    transformers = need("transformers", f"the model {spec!r}")
    source = str(folder) if folder.exists() else spec
    try:
        config = transformers.AutoConfig.from_pretrained(source)
        _without_cache(config)
        extra = {} if request.attention is None else {"attn_implementation": request.attention}
        module = _model_class(transformers, config).from_pretrained(
            source, config=config, dtype=request.dtype or "auto", **extra
        )
    except _LOAD_ERRORS as error:
        raise _cannot_load(spec, error) from error
    tokenizer, note = tokenizer_of(transformers, source)
    return _loaded(module, request, tokenizer, f"{spec}{note}")


def load_config(path: Path, request: Request) -> LoadedModel:
    """A config.json, or a folder that holds one, with random weights.

    Raises:
        OptionError: the file is missing or transformers cannot build the model.
    """
    transformers = need("transformers", f"the configuration {path}")
    path = path.expanduser()
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise OptionError(f"there is no file {file}", fix="name a config.json or its folder")
    try:
        config = transformers.AutoConfig.from_pretrained(str(file))
    except _LOAD_ERRORS as error:
        raise _cannot_load(str(path), error) from error
    return from_config(config, request, source=f"configuration {path}")


def from_config(config: Any, request: Request, *, source: str) -> LoadedModel:  # noqa: ANN401 - a transformers config
    """Build the model of a transformers configuration with random or unwritten weights.

    Raises:
        OptionError: transformers refuses the configuration.
    """
    transformers = need("transformers", source)
    _without_cache(config)
    if request.layers is not None:
        _set_layers(config, request.layers, source)
    extra = {} if request.attention is None else {"attn_implementation": request.attention}
    dtype = request.dtype or torch.float32
    try:
        with random_weights.weights(seed=request.seed, empty=request.empty or request.lazy):
            module = _model_class(transformers, config)._from_config(config, dtype=dtype, **extra)
    except _LOAD_ERRORS as error:
        raise _cannot_load(source, error) from error
    kind = "unwritten" if request.empty else f"random (seed {request.seed})"
    loaded = _loaded(module, request, None, f"{source}, {kind} weights")
    if not request.lazy or request.empty:
        return loaded
    return replace(loaded, weights=random_weights.postpone(loaded.module, request.seed))


def _loaded(
    module: nn.Module, request: Request, tokenizer: Tokenizer | None, source: str
) -> LoadedModel:
    module = module.eval()
    args, kwargs = example_inputs(module, request)
    count = sum(p.numel() for p in module.parameters())
    dtype = str(next(module.parameters()).dtype).removeprefix("torch.")
    text = f"{type(module).__name__} from {source}: {count / 1e6:,.1f} M parameters in {dtype}"
    return LoadedModel(
        module=module, args=args, kwargs=kwargs, tokenizer=tokenizer, description=text
    )


def _model_class(transformers: Any, config: Any) -> Any:  # noqa: ANN401 - classes of transformers
    """The class that the configuration names, else its language model, else its base model."""
    for name in config.architectures or ():
        # Parts of models, as an encoder alone, are not among the package's public names.
        for place in (transformers, _modeling(config)):
            if hasattr(place, name):
                return getattr(place, name)
    auto = transformers.models.auto.modeling_auto
    kind = type(config)
    encoder = kind in auto.MODEL_FOR_MASKED_LM_MAPPING or config.is_encoder_decoder
    mapping = auto.MODEL_MAPPING
    if kind in auto.MODEL_FOR_CAUSAL_LM_MAPPING and not encoder:
        mapping = auto.MODEL_FOR_CAUSAL_LM_MAPPING
    if kind not in mapping:
        raise ValueError(f"transformers has no model for a {kind.__name__}")
    found = mapping[kind]
    return found[0] if isinstance(found, tuple) else found


def _modeling(config: Any) -> object:  # noqa: ANN401 - a transformers config
    """The module with the models of a configuration, if that is one of transformers."""
    name = type(config).__module__.replace(".configuration_", ".modeling_")
    found = name.startswith("transformers.") and importlib.util.find_spec(name)
    return importlib.import_module(name) if found else None


def _without_cache(config: Any) -> None:  # noqa: ANN401 - a transformers config
    for part in (config, config.get_text_config()):
        if getattr(part, "use_cache", None):
            part.use_cache = False


def _set_layers(config: Any, layers: int, source: str) -> None:  # noqa: ANN401 - a transformers config
    text = config.get_text_config()
    if not hasattr(text, "num_hidden_layers"):
        raise OptionError(f"layers={layers} does not apply to {source}: it counts no layers")
    kinds = getattr(text, "layer_types", None)
    if kinds:
        text.layer_types = [kinds[i % len(kinds)] for i in range(layers)]
    text.num_hidden_layers = layers


def tokenizer_of(transformers: Any, source: str) -> tuple[Tokenizer | None, str]:  # noqa: ANN401 - the package
    """The tokenizer of a folder or id, or None and a note that says why there is none."""
    folder = Path(source)
    # Without any file, transformers would make a tokenizer of its special tokens alone.
    if folder.is_dir() and not any(any(folder.glob(p)) for p in _TOKENIZER_FILES):
        return None, " (no tokenizer: the folder has no tokenizer file)"
    try:
        return transformers.AutoTokenizer.from_pretrained(source), ""
    except _LOAD_ERRORS as error:
        return None, f" (no tokenizer: {str(error).splitlines()[0]})"


def _cannot_load(spec: str, error: Exception) -> OptionError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return OptionError(
        f"cannot load the model {spec!r}",
        why=lines[0] if lines else type(error).__name__,
        fix="name a local folder, a .gguf file, config:FILE, shape:NAME, smollm2 or "
        "package.module:function; ids of Hugging Face need the network or a filled cache",
    )
