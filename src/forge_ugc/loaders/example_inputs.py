"""Example inputs of a transformers model, from its configuration."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from forge_ugc.errors import OptionError
from forge_ugc.loaders.loaded import Request


def example_inputs(
    module: nn.Module, request: Request
) -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor]]:
    """Seeded inputs: i64[1, tokens] token ids, or f[1, channels, height, width] images.

    Whisper's encoder gets mel features, f[1, bins, frames].
    Encoders also get an attention mask, encoder-decoders the decoder's token ids.

    Raises:
        OptionError: the model takes something else.
    """
    config: Any = module.config  # a transformers config: its fields differ by model
    random = torch.Generator().manual_seed(request.seed)
    main = getattr(module, "main_input_name", "input_ids")
    if main == "pixel_values":
        size = config.image_size
        height, width = size if isinstance(size, list | tuple) else (size, size)
        shape = (1, config.num_channels, height, width)
        image = torch.randn(shape, generator=random)
        return (), {main: image.to(next(module.parameters()).dtype)}
    if main == "input_features" and type(module).__name__ == "WhisperEncoder":
        # Its second convolution halves the number of frames.
        frames = 2 * config.max_source_positions
        features = torch.randn((1, config.num_mel_bins, frames), generator=random)
        return (), {main: features.to(next(module.parameters()).dtype)}
    if main != "input_ids":
        raise OptionError(
            f"no example inputs are known for {type(module).__name__}",
            why=f"its main input is {main!r}; Whisper's encoder, token ids and images are known",
            fix="write a function that returns (module, args, kwargs), name it package.module:name",
        )
    text = config.get_text_config()
    limit = getattr(text, "max_position_embeddings", None)
    if limit is not None and request.tokens > limit:
        raise OptionError(f"tokens is {request.tokens}, the model has positions for {limit}")
    ids = torch.randint(0, text.vocab_size, (1, request.tokens), generator=random)
    if config.is_encoder_decoder:
        return (), {"input_ids": ids, "decoder_input_ids": ids.clone()}
    if _is_encoder(module):
        return (ids,), {"attention_mask": torch.ones_like(ids)}
    return (ids,), {}


def _is_encoder(module: nn.Module) -> bool:
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING

    config: Any = module.config
    return type(config) in MODEL_FOR_MASKED_LM_MAPPING and not getattr(config, "is_decoder", False)
