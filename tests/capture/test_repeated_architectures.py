"""Blocks traced once give the graph and the program of the whole model, on real architectures."""

import re

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc import Options
from forge_ugc.capture import capture
from forge_ugc.npuir.printer import print_program

IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
MASK = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
TEXT = {"input_ids": IDS, "attention_mask": MASK}
IMAGE = {"pixel_values": torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32)}
DECODER = {
    "vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
ENCODER = {k: v for k, v in DECODER.items() if k != "num_key_value_heads"}
VISION = {
    "image_size": 32, "patch_size": 8, "hidden_size": 32, "intermediate_size": 48,
    "num_hidden_layers": 4, "num_attention_heads": 4,
}  # fmt: skip
SLIDING = {"sliding_window": 3, "head_dim": 8, "query_pre_attn_scalar": 8}
# model type: (configuration, inputs, blocks that are stamped)
ARCHITECTURES = {
    "gpt2": ({"vocab_size": 99, "n_positions": 64, "n_embd": 32, "n_layer": 4, "n_head": 4,
              "bos_token_id": 1, "eos_token_id": 2}, TEXT, 3),
    "llama": (DECODER, TEXT, 3),
    "qwen2": (DECODER, TEXT, 3),
    "granite": ({**DECODER, "residual_multiplier": 0.5}, TEXT, 3),
    "gemma2": ({**DECODER, **SLIDING}, TEXT, 2),
    "gpt_neox": ({**ENCODER, "rotary_pct": 0.5}, TEXT, 3),
    "opt": ({"vocab_size": 99, "hidden_size": 32, "ffn_dim": 48, "num_hidden_layers": 4,
             "num_attention_heads": 4, "max_position_embeddings": 64, "word_embed_proj_dim": 32},
            TEXT, 3),
    "bert": (ENCODER, TEXT, 3),
    "roberta": (ENCODER, TEXT, 3),
    "distilbert": ({"vocab_size": 99, "dim": 32, "hidden_dim": 48, "n_layers": 4, "n_heads": 4},
                   TEXT, 3),
    "vit": (VISION, IMAGE, 3),
    "dinov2": ({**VISION, "mlp_ratio": 2}, IMAGE, 3),
}  # fmt: skip


def build(name):
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(name, **ARCHITECTURES[name][0])
    config.use_cache = False
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(config).eval()


def text_of(program):
    """The program with computed constants, which are named after nodes, in order of appearance."""
    names = {}
    return re.sub(
        r"@(folded|lifted)[\w.#]*",
        lambda found: names.setdefault(found.group(), f"@made.{len(names)}"),
        print_program(program),
    )


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_graph_is_that_of_the_whole_model(name):
    _, inputs, copies = ARCHITECTURES[name]
    captured = capture(build(name), (), inputs, repeated_blocks="verify")
    assert captured.repeated_blocks.whole_model is None
    assert captured.repeated_blocks.copies == copies


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "vit"])
def test_the_program_is_that_of_the_whole_model(name):
    module, (_, inputs, copies) = build(name), ARCHITECTURES[name]
    stamped = forge_ugc.compile(module, (), inputs)
    whole = forge_ugc.compile(module, (), inputs, options=Options(repeated_blocks="off"))
    assert stamped.result.repeated_blocks.copies == copies
    assert whole.result.repeated_blocks.copies == 0
    assert text_of(stamped.program) == text_of(whole.program)
    got, want = stamped(**inputs), whole(**inputs)
    assert torch.equal(got[0], want[0])
    with torch.no_grad():
        torch.testing.assert_close(got[0], module(**inputs)[0], rtol=1e-3, atol=1e-4)


def test_the_encoder_of_pytorch():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    module = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    x, padding = torch.randn(2, 6, 16), MASK == 0
    kwargs = {"src_key_padding_mask": padding}
    captured = capture(module, (x,), kwargs, repeated_blocks="verify")
    assert captured.repeated_blocks.copies == 3
    compiled = forge_ugc.compile(module, (x,), kwargs)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, **kwargs), module(x, **kwargs))
