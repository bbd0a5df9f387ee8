"""Tokens and logits of a compiled model with its real weights, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator

import torch

import forge_ugc
from benchmarks.core.benchmark import Benchmark, Settings, SkippedError, benchmark
from benchmarks.core.measurement import Ask, Measurement, Subject
from forge_ugc import CompiledModel, Options
from forge_ugc.errors import OptionError
from forge_ugc.evaluation.fidelity import Fidelity, combine, compare_logits
from forge_ugc.evaluation.generate import greedy
from forge_ugc.loaders.load import load_model
from forge_ugc.loaders.loaded import LoadedModel
from forge_ugc.options import PRECISIONS

_PROMPTS = (
    "Once upon a time, in a small village by the sea, there lived",
    "The main difference between a compiler and an interpreter is",
    "def fibonacci(n):",
)
_TOKENS = 128
_SAME_TOKENS = Ask("64 greedy tokens identical to eager", at_least=1.0)
_SMALL_DIFFERENCE = Ask("largest logit difference at most 2.1e-5", at_most=2.1e-5)
_SMALL_KL = Ask("KL divergence at most 8.4e-9", at_most=8.4e-9)

_NO_WORSE = Ask("bf16 no worse than eager bf16", at_most=1.0)


@benchmark("fidelity")
class FidelityOfSmolLM2(Benchmark):
    """SmolLM2-135M-Instruct with its published weights, in float32 and less, target `cpu`.

    Logits are compared on seeded random sequences of 128 tokens, at every position, with those of
    the same module in PyTorch. The model as asked for computes attention with PyTorch's SDPA; the
    second line is the same model with attention written out (`attn_implementation="eager"`), which
    compiles to the same program; the third says how far PyTorch's own two ways to compute it lie
    apart in float32. The divergence is KL(eager || compiled) of the two
    softmax distributions at a position, in nats, computed in float64 from the float32 logits.
    The published figures are the authors' largest over their six models, on 1,000 sequences of
    WikiText-103 in half precision.
    """

    title = "Fidelity: SmolLM2-135M against eager"

    def run(self, settings: Settings) -> Iterator[Measurement]:
        try:
            loaded = load_model("smollm2", tokens=_TOKENS)
        except OptionError as error:
            raise SkippedError(str(error)) from error
        compiled = forge_ugc.compile(loaded.module, loaded.args, loaded.kwargs)
        length = settings.pick(64, 4)
        for prompt in _PROMPTS[: settings.pick(len(_PROMPTS), 1)]:
            ids = loaded.tokenizer.encode(prompt)
            got, want = (
                greedy(model, ids, window=_TOKENS, max_new_tokens=length).tokens
                for model in (compiled, loaded.module)
            )
            same = [a == b for a, b in zip(got, want, strict=True)]
            equal = same.index(False) if False in same else len(same)
            row = Subject("Greedy decoding", prompt)
            yield row.measure("tokens", "count", len(want))
            yield row.measure("equal before the first difference", "count", equal)
            share = equal / len(want)
            yield row.measure("equal", "share", share, ask=_SAME_TOKENS)
            settings.say(f"{equal} of {len(want)} tokens equal")
        yield from _logits(settings, loaded, compiled)
        yield from _precisions(settings, loaded)


def _logits(
    settings: Settings, loaded: LoadedModel, compiled: CompiledModel
) -> Iterator[Measurement]:
    plain = load_model("smollm2", tokens=_TOKENS, attention="eager")
    plain_compiled = forge_ugc.compile(plain.module, plain.args, plain.kwargs)
    pairs = {
        "compiled, against eager": (loaded.module, compiled),
        "the same with attention written out": (plain.module, plain_compiled),
        "PyTorch alone: SDPA against attention written out": (plain.module, loaded.module),
    }
    parts: dict[str, list[Fidelity]] = {name: [] for name in pairs}
    random = torch.Generator().manual_seed(0)
    sequences = settings.pick(100, 2)
    for done in range(1, sequences + 1):
        vocabulary = loaded.module.config.vocab_size
        ids = torch.randint(0, vocabulary, (1, _TOKENS), generator=random)
        with torch.inference_mode():
            for name, (want, got) in pairs.items():
                parts[name].append(compare_logits(want(ids).logits, got(ids).logits))
        if done % 25 == 0:
            settings.say(f"{done} of {sequences} sequences")
    asked = next(iter(pairs))
    for name, found in parts.items():
        yield from _rows(name, combine(found), asked=name == asked)


def _precisions(settings: Settings, loaded: LoadedModel) -> Iterator[Measurement]:
    """Eager in bf16 and our precisions, all against eager in f32, on random sequences."""
    half = load_model("smollm2", tokens=_TOKENS, dtype=torch.bfloat16)
    models = {"PyTorch in bf16": half.module} | {
        f"compiled with precision={name!r}": forge_ugc.compile(
            loaded.module, loaded.args, loaded.kwargs, options=Options(precision=name)
        )
        for name in PRECISIONS
    }
    parts: dict[str, list[Fidelity]] = {name: [] for name in models}
    random = torch.Generator().manual_seed(1)
    vocabulary = loaded.module.config.vocab_size
    for _ in range(settings.pick(16, 1)):
        ids = torch.randint(0, vocabulary, (1, _TOKENS), generator=random)
        with torch.inference_mode():
            want = loaded.module(ids).logits
            for name, model in models.items():
                parts[name].append(compare_logits(want, model(ids).logits.float()))
    eager, *_ = totals = [combine(found) for found in parts.values()]
    for name, total in zip(models, totals, strict=True):
        yield from _rows(name, total, asked=False)
        if name == "compiled with precision='bf16'":
            row = Subject("Logits", name)
            for figure in ("mean_kl", "max_abs_difference"):
                ratio = getattr(total, figure) / getattr(eager, figure)
                yield row.measure(f"{figure}, of PyTorch's in bf16", "share", ratio,
                                  ask=_NO_WORSE)  # fmt: skip


def _rows(name: str, total: Fidelity, *, asked: bool) -> Iterator[Measurement]:
    row = Subject("Logits", name)
    yield row.measure("positions", "count", total.positions)
    yield row.measure(
        "largest difference", "number", total.max_abs_difference,
        published=2.1e-5 if asked else None, ask=_SMALL_DIFFERENCE if asked else None,
    )  # fmt: skip
    yield row.measure("mean KL", "number", total.mean_kl)
    yield row.measure(
        "largest KL", "number", total.max_kl,
        published=8.4e-9 if asked else None, ask=_SMALL_KL if asked else None,
    )  # fmt: skip
    yield row.measure("same most likely token", "share", total.same_choice)
