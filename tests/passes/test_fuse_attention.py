"""What the fusion of attention refuses, with which words, and whole models."""

import re

import pytest
import torch
from attention_support import (
    INF,
    B,
    Call,
    H,
    L,
    attend,
    fuse,
    qkv,
)  # fmt: skip
from torch import nn

from forge_ugc.capture import capture
from forge_ugc.options import Options
from forge_ugc.passes.base import build
from forge_ugc.passes.pass_manager import PassManager
from forge_ugc.passes.text import format_graph


def sinks(q, k, v):
    scores = torch.cat([q @ k.mT, torch.zeros(B, H, L, 1)], -1)
    return scores.softmax(-1)[..., :-1] @ v


def with_weights(q, k, v):
    weights = (q @ k.mT).softmax(-1)
    return weights @ v, weights


def with_scores(q, k, v):
    scores = q @ k.mT
    return scores.softmax(-1) @ v, scores.amax()


REFUSALS = {
    "the attention weights are used elsewhere, by output": with_weights,
    "the scores are used elsewhere, by amax": with_scores,
    "the softmax runs over axis -2, not over the keys": lambda q, k, v: (q @ k.mT).softmax(-2) @ v,
    "the scores pass through tanh before the softmax": lambda q, k, v: (
        (q @ k.mT / 30).tanh() * 30).softmax(-1) @ v,
    "the attention weights pass through nan_to_num before they meet the values": lambda q, k, v: (
        (q @ k.mT).softmax(-1).nan_to_num() @ v),
    "the attention weights pass through slice before they meet the values": sinks,
    "hidden scores become -10000, which need not hide a key": lambda q, k, v: (
        (q @ k.mT).masked_fill(q[..., :1] > 0, -1e4).softmax(-1) @ v),
    "hidden scores become inf, which need not hide a key": lambda q, k, v: (
        ((q @ k.mT).masked_fill(k[..., 0][:, :, None] > 9, -INF) * -1).softmax(-1) @ v),
    "a key is hidden by a moderate number next to another mask, so that a wholly hidden row "
    "depends on both": lambda q, k, v: (
        ((q @ k.mT).masked_fill(q[..., :1] > 0, -1e9) + q[..., :1]).softmax(-1) @ v),
    "the chain from f32[2,4,7,8] to f32[2,4,7,8] rounds to bf16 on its way": lambda q, k, v: (
        (q @ k.mT).softmax(-1).bfloat16().float() @ v),
    "queries, keys and values are f32, f32, bf16; one type is needed":
        lambda q, k, v: (q @ k.mT).softmax(-1).bfloat16() @ v.bfloat16(),
    "the mask that is added is bool[2,4,7,1], not floating point": lambda q, k, v: (
        (q @ k.mT + (q[..., :1] > 0)).softmax(-1) @ v),
    "queries have rank 5 and keys rank 5; both must have one rank of 2, 3 or 4":
        lambda q, k, v: (q[None] @ k[None].mT).softmax(-1) @ v[None],
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSALS)
def test_refusals(reason):
    out = fuse(REFUSALS[reason], *qkv(), exact=True)
    assert out.missed == [f"softmax-attention: {reason}"]
    assert "attention" not in out.calls


ABSENT = {
    "router": lambda q, k, v: q.softmax(-1).sum(),
    "mixing with a constant": lambda q, k, v: q.softmax(-1) @ k.mT,
    "linear attention": lambda q, k, v: q.softmax(-1) @ (k.softmax(-2).mT @ v),
    "head": lambda q, k, v: (q @ k.mT).softmax(-1),
}


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_no_attention_is_no_near_miss(name):
    out = fuse(ABSENT[name], *qkv(), exact=True)
    assert out.missed == []
    assert "attention" not in out.calls


def test_rewrites_can_be_switched_off():
    module = capture(Call(attend), qkv()).graph_module
    for off in ({"disable": frozenset({"softmax-attention"})}, {"fusion_aggressiveness": 0.1}):
        assert build(["fuse-attention"])[0].run(module, Options(**off)).changed == 0
    assert build(["fuse-attention"])[0].run(module, Options()).changed == 1


SMALL = dict(
    vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
    num_attention_heads=4, max_position_embeddings=64,
)  # fmt: skip
GROUPED = {**SMALL, "num_key_value_heads": 2, "use_cache": False}
MODELS = {
    "Llama": ("LlamaModel", GROUPED),
    "Qwen2": ("Qwen2Model", GROUPED),
    "Mistral": ("MistralModel", {**GROUPED, "sliding_window": 5}),
    "Bert": ("BertModel", SMALL),
    "GPT2": ("GPT2Model", {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4,
                           "n_positions": 64, "use_cache": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_both_forms_of_a_model_end_in_the_same_program(name):
    transformers = pytest.importorskip("transformers")
    model, options = MODELS[name]
    texts = []
    for form in ("sdpa", "eager"):
        torch.manual_seed(0)
        config = getattr(transformers, f"{name}Config")(**options, attn_implementation=form)
        whole = Ids(getattr(transformers, model)(config)).eval()
        ids = torch.randint(0, 64, (2, 10), generator=torch.Generator().manual_seed(0))
        graph_module = capture(whole, (ids,)).graph_module
        PassManager().run(graph_module)
        with torch.no_grad():
            torch.testing.assert_close(graph_module(ids)[0], whole(ids))
        texts.append(re.sub(r"@\w+", "@", format_graph(graph_module)))
    assert texts[0].count("= attention(") == 2
    assert texts[0] == texts[1]


class Ids(nn.Module):
    """A model called with token ids alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids).last_hidden_state
