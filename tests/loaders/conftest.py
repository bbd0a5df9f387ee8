"""GGUF files of tiny models, written with the `gguf` package."""

import gguf
import numpy as np
import pytest
import torch
import transformers

_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(name):
    base, _, suffix = name.rpartition(".")
    if base in _TOP:
        return f"{_TOP[base]}.{suffix}"
    _, _, number, rest = base.split(".", 3)
    return f"blk.{number}.{_NAMES[rest]}.{suffix}"


def llama_cpp_order(value, heads):
    """What llama.cpp's converter does to query and key rows."""
    shape = value.shape
    return value.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def tiny(kind="llama", *, tied=True):
    """A module with 2 query heads of 16 and one key head."""
    fields = {
        "vocab_size": 96, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5, "tie_word_embeddings": tied,
        "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0},
    }  # fmt: skip
    torch.manual_seed(3)
    config = transformers.AutoConfig.for_model(kind, **fields)
    module = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


def write(path, module, *, kind="llama", metadata=(), extra=(), skip=(), quantise=None):
    """Write `module` as llama.cpp's converter would."""
    config = module.config
    writer = gguf.GGUFWriter(str(path), kind)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    for add in metadata:
        add(writer)
    for name, parameter in module.named_parameters():
        value = parameter.detach().numpy()
        if kind == "llama" and "q_proj" in name:
            value = llama_cpp_order(value, config.num_attention_heads)
        if kind == "llama" and "k_proj" in name:
            value = llama_cpp_order(value, config.num_key_value_heads)
        if name in skip:
            continue
        if quantise is not None and value.ndim == 2:
            raw = gguf.quants.quantize(np.ascontiguousarray(value), quantise)
            writer.add_tensor(gguf_name(name), raw, raw_dtype=quantise)
        else:
            writer.add_tensor(gguf_name(name), np.ascontiguousarray(value))
    for name, value in extra:
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def gguf_tools():
    """Functions that build and write tiny models."""

    class Tools:
        tiny = staticmethod(tiny)
        write = staticmethod(write)

    return Tools
