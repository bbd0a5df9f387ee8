"""The pass as a whole, on tiny models of transformers as the default pipeline meets them."""

from collections import Counter

import pytest
import torch
import transformers
from torch import fx

from forge_ugc.capture import capture
from forge_ugc.errors import OptionError
from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.options import Options
from forge_ugc.passes.base import build
from forge_ugc.passes.fuse_operators import FuseOperators
from forge_ugc.passes.text import operator_of

SIMPLE = ("dead-code", "device-constants", "fold-constants", "common-subexpressions")
SMALL = {
    "vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64,
}  # fmt: skip
GROUPED = {**SMALL, "num_key_value_heads": 2}
GPT = {"vocab_size": 99, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4}
# model, configuration, what must fire in two layers
MODELS = {
    "gpt2": ("GPT2LMHeadModel", GPT,
             {"linear": 9, "linear-views": 8, "gelu": 2, "linear-activation": 2, "residual": 4}),
    "llama": ("LlamaForCausalLM", GROUPED,
              {"linear": 15, "rms-norm": 5, "rotary": 4, "linear-activation": 2, "gated-linear": 2,
               "residual": 4, "merged-linear": 2}),
    "gemma": ("GemmaForCausalLM", {**GROUPED, "head_dim": 8},
              {"linear": 15, "rms-norm": 5, "rotary": 4, "linear-activation": 2, "gated-linear": 2,
               "residual": 4, "merged-linear": 2}),
    "qwen3": ("Qwen3ForCausalLM", {**GROUPED, "head_dim": 8},
              {"linear": 15, "rms-norm": 9, "rotary": 4, "linear-activation": 2, "gated-linear": 2,
               "residual": 4, "merged-linear": 2}),
    "phi3": ("Phi3ForCausalLM", {**GROUPED, "pad_token_id": 0},
             {"linear": 9, "rms-norm": 5, "rotary": 4, "rotary-partial": 4, "gated-halves": 2,
              "residual": 4}),
    "neox": ("GPTNeoXForCausalLM", {**SMALL, "rotary_pct": 0.5},
             {"linear": 9, "rotary": 4, "rotary-partial": 4, "linear-activation": 2,
              "residual": 2}),
    "gptj": ("GPTJForCausalLM", {**GPT, "rotary_dim": 4},
             {"linear": 13, "rotary": 4, "rotary-partial": 4, "gelu": 2, "linear-activation": 2,
              "residual": 2, "merged-linear": 2}),
    "cohere": ("CohereForCausalLM", GROUPED,
               {"linear": 15, "layer-norm": 3, "rotary": 4, "linear-activation": 2,
                "gated-linear": 2, "residual": 4, "merged-linear": 2, "linear-scale": 1}),
}  # fmt: skip


class TypeChecker(fx.Interpreter):
    """Runs a graph and compares every value with the type that the graph records for it."""

    def run_node(self, n):
        value = super().run_node(n)
        if n.op == "call_function" and isinstance(value, torch.Tensor):
            assert type_of(value) == n.meta["type"], n.format_node()
        return value


def captured(name, dtype=torch.float32, layers=2):
    cls, arguments, _ = MODELS[name]
    model_class = getattr(transformers, cls)
    torch.manual_seed(0)
    key = "n_layer" if "n_layer" in arguments else "num_hidden_layers"
    config = model_class.config_class(**{**arguments, key: layers}, use_cache=False)
    model = model_class(config).eval().to(dtype)
    with torch.no_grad():
        for p in model.parameters():  # norms start at one and biases at zero, which hides faults
            p.add_(0.1 * torch.randn_like(p))
    ids = torch.randint(0, 99, (2, 10), generator=torch.Generator().manual_seed(1))
    graph_module = capture(model, (ids,)).graph_module
    for graph_pass in build(SIMPLE):
        graph_pass.run(graph_module, Options())
    return model, ids, graph_module


def fuse(graph_module, **options):
    [graph_pass] = build(["fuse-operators"])
    return graph_pass.run(graph_module, Options(**options))


@pytest.mark.parametrize("name", MODELS)
def test_every_rewrite_fires_where_it_should_and_results_stay(name):
    model, ids, graph_module = captured(name)
    result = fuse(graph_module)
    assert Counter(d.rule for d in result.details) == MODELS[name][2]
    graph_module.graph.lint()
    with torch.no_grad():
        want, got = model(ids).logits, TypeChecker(graph_module).run(ids)[0]
    torch.testing.assert_close(got, want, rtol=1e-5, atol=2e-6)
    again = fuse(graph_module)
    assert again.changed == 0


@pytest.mark.parametrize("name", ["llama", "gemma", "qwen3"])
def test_what_takes_the_same_steps_is_bit_equal_in_bf16(name):
    model, ids, graph_module = captured(name, torch.bfloat16)
    fired = Counter(d.rule for d in fuse(graph_module).details)
    assert fired["rms-norm"] == MODELS[name][2]["rms-norm"]
    with torch.no_grad():
        assert torch.equal(TypeChecker(graph_module).run(ids)[0], model(ids).logits)


def test_rewrites_grow_linearly_with_layers():
    counts = []
    for layers in (1, 2, 3):
        _, _, graph_module = captured("llama", layers=layers)
        counts.append(fuse(graph_module).changed)
    assert counts[2] - counts[1] == counts[1] - counts[0] == 16


@pytest.mark.parametrize(
    ("alpha", "rules"),
    [
        (0.0, set()),
        (0.1, {"linear"}),
        (0.2, {"linear", "linear-activation"}),
        (
            0.4,
            {"linear", "linear-activation", "gated-linear", "residual", "rms-norm"},
        ),
        (1.0, set(MODELS["llama"][2])),
    ],
)
def test_aggressiveness_switches_tiers_on(alpha, rules):
    _, _, graph_module = captured("llama", layers=1)
    result = fuse(graph_module, fusion_aggressiveness=alpha)
    assert {d.rule for d in result.details} == rules


def test_single_rewrites_can_be_disabled():
    _, _, graph_module = captured("llama", layers=1)
    result = fuse(graph_module, disable=frozenset({"rotary", "rms-norm"}))
    assert {d.rule for d in result.details} == set(MODELS["llama"][2]) - {"rotary", "rms-norm"}


def test_details_and_near_misses_name_the_place():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up = torch.nn.Linear(4, 4)

        def forward(self, x):
            y = self.up(x)
            return torch.relu(y), y

    graph_module = capture(Net(), (torch.randn(2, 4),)).graph_module
    result = fuse(graph_module)
    [fired] = result.details
    assert (fired.rule, fired.what) == ("linear", "linear -> linear")
    assert fired.location.module == "up"
    [missed] = result.near_misses
    assert missed.rule == "linear-activation"
    assert missed.reason == f"{fired.node} is read by 2 nodes, not by this one alone"
    assert missed.location.module == "up"


def test_names_of_rewrites_are_unique():
    names = [r.name for r in FuseOperators.rewrites]
    assert len(set(names)) == len(names)


def test_big_weights_are_never_copied():
    _, _, graph_module = captured("gpt2")
    known = {
        t.untyped_storage().data_ptr()
        for n in graph_module.graph.nodes
        if n.op == "get_attr" and (t := getattr(graph_module, n.target)).ndim == 2
    }
    fuse(graph_module)
    for n in graph_module.graph.nodes:
        if operator_of(n) == "linear":
            weight = getattr(graph_module, n.args[1].target)
            assert weight.untyped_storage().data_ptr() in known


def test_weights_on_the_meta_device_are_enough():
    _, _, graph_module = captured("llama", layers=1)
    for n in graph_module.graph.nodes:
        if n.op == "get_attr":
            setattr(graph_module, n.target, getattr(graph_module, n.target).to("meta"))
    assert {d.rule for d in fuse(graph_module).details} == set(MODELS["llama"][2])


def test_an_unknown_pass_is_refused():
    with pytest.raises(OptionError, match="no pass is called 'fuse'"):
        build(["fuse"])
