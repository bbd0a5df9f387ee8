"""Published architectures at full size, for compiling without their weights.

Hyperparameters are those of the released checkpoints, with two exceptions that follow the table
this project is compared with: granite-350m has 24 layers with as many key as query heads (the
released granite-4.0-350m has 28 layers with 4 key heads). lfm2-2.6b is the released model (30
layers of 2048: 8 attention, 22 short convolutions); the table's 32 layers of 2560 are the
defaults of transformers' `Lfm2Config`, available as lfm2-default. vit-b takes pixels (ViT-B/16,
224 x 224, 1000 classes), whisper-tiny-encoder 30 seconds of mel features, jet-tagger 160 particles:
the number of tokens does not apply to them.
"""

from __future__ import annotations

from typing import Any

from forge_ugc.errors import OptionError
from forge_ugc.loaders import huggingface, jet_tagger
from forge_ugc.loaders.loaded import LoadedModel, Request, need

_LFM2_ATTENTION = (2, 5, 9, 13, 17, 21, 24, 27)
_LLAMA3_ROPE = {
    "rope_type": "llama3", "rope_theta": 500000.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
}  # fmt: skip
_SHAPES: dict[str, dict[str, Any]] = {  # Any: constructor arguments of transformers' configs
    "gpt2": {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
    },
    "granite-350m": {
        "model_type": "granite", "architectures": ["GraniteForCausalLM"], "vocab_size": 100352,
        "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
        "num_key_value_heads": 16, "intermediate_size": 2048, "tie_word_embeddings": True,
        "max_position_embeddings": 32768, "rms_norm_eps": 1e-5, "embedding_multiplier": 12.0,
        "attention_multiplier": 0.015625, "residual_multiplier": 0.246, "logits_scaling": 4.0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000000.0},
    },
    "qwen2-0.5b": {
        "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 151936,
        "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
        "num_key_value_heads": 2, "intermediate_size": 4864, "tie_word_embeddings": True,
        "max_position_embeddings": 131072, "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
    },
    "llama-3.2-1b": {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 128256,
        "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192,
        "tie_word_embeddings": True, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
        "rope_parameters": {**_LLAMA3_ROPE, "factor": 32.0},
    },
    "lfm2-2.6b": {
        "model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"], "vocab_size": 65536,
        "hidden_size": 2048, "num_hidden_layers": 30, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 10752, "block_auto_adjust_ff_dim": False,
        "max_position_embeddings": 128000, "norm_eps": 1e-5, "conv_L_cache": 3,
        "layer_types": ["full_attention" if i in _LFM2_ATTENTION else "conv" for i in range(30)],
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
    },
    "lfm2-default": {
        "model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"],
    },
    "llama-3.1-8b": {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 128256,
        "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336,
        "tie_word_embeddings": False, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
        "rope_parameters": {**_LLAMA3_ROPE, "factor": 8.0},
    },
    "smollm2": {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 49152,
        "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
        "num_key_value_heads": 3, "intermediate_size": 1536, "tie_word_embeddings": True,
        "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 100000.0},
    },
    "bert-base": {
        "model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522,
    },
    "minilm": {
        "model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522,
        "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
        "intermediate_size": 1536,
    },
    "vit-b": {
        "model_type": "vit", "architectures": ["ViTForImageClassification"], "num_labels": 1000,
    },
    "whisper-tiny-encoder": {
        "model_type": "whisper", "architectures": ["WhisperEncoder"],
    },
}  # fmt: skip
_JET_TAGGER = "jet-tagger"


def names() -> tuple[str, ...]:
    """Names that `shape:` takes."""
    return (*_SHAPES, _JET_TAGGER)


def load(name: str, request: Request) -> LoadedModel:
    """The architecture with random weights (or unwritten ones, `request.empty`).

    Raises:
        OptionError: no such shape.
    """
    if name == _JET_TAGGER:
        return jet_tagger.load(request)
    if name not in _SHAPES:
        raise OptionError(f"no shape is called {name!r}", fix=f"choose from {', '.join(names())}")
    transformers = need("transformers", f"shape:{name}")
    config = transformers.AutoConfig.for_model(**_SHAPES[name])
    return huggingface.from_config(config, request, source=f"shape {name}")
