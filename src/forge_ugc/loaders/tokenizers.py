"""Tokenizers alone, without loading the weights of their model."""

from __future__ import annotations

from pathlib import Path

from forge_ugc.errors import OptionError
from forge_ugc.loaders import gguf_file, gguf_model, gguf_tokenizer, huggingface
from forge_ugc.loaders.loaded import Tokenizer, need


def load_tokenizer(spec: str) -> Tokenizer:
    """The tokenizer of `smollm2`, a GGUF file, or a Hugging Face folder or id.

    Raises:
        OptionError: the model has no tokenizer that can be built; says why.
        ArtifactError: a file is damaged.
    """
    if spec == "smollm2" or spec.endswith(".gguf"):
        path = gguf_model.smollm2_path() if spec == "smollm2" else Path(spec).expanduser()
        tokenizer, note = gguf_tokenizer.build(gguf_file.read(path).metadata)
    elif ":" in spec:
        tokenizer, note = None, "random weights and functions of yours come without one"
    else:
        transformers = need("transformers", f"the tokenizer of {spec!r}")
        tokenizer, note = huggingface.tokenizer_of(transformers, str(Path(spec).expanduser()))
    if tokenizer is None:
        raise OptionError(
            f"{spec} has no tokenizer",
            why=note.strip(" ()").removeprefix("no tokenizer: "),
            fix="name a model with a tokenizer, such as --tokenizer smollm2",
        )
    return tokenizer
