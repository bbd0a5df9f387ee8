"""Byte-level BPE tokenizers from GGUF metadata.

transformers' own conversion is not used: it gives every file GPT-2's splitting rule, which encodes
digits wrongly for models such as SmolLM2. Rules are those of the models' published tokenizers;
names are llama.cpp's (`tokenizer.ggml.pre`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from forge_ugc.loaders.gguf_file import Value
from forge_ugc.loaders.loaded import Tokenizer, need

_CONTROL, _USER_DEFINED = 3, 4
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SPLITS = {
    "llama-bpe": _WORDS.replace("DIGITS", "{1,3}"),
    "qwen2": _WORDS.replace("DIGITS", ""),
}
_SPECIAL = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}


def build(metadata: Mapping[str, Value]) -> tuple[Tokenizer | None, str]:
    """The tokenizer, or None and a note that says why there is none."""
    model, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    tokens, merges = metadata.get("tokenizer.ggml.tokens"), metadata.get("tokenizer.ggml.merges")
    if model != "gpt2" or not isinstance(tokens, list) or not isinstance(merges, list):
        return None, f" (no tokenizer: kind {model!r} is not supported)"
    if pre not in ("smollm", "gpt-2", *_SPLITS):
        return None, f" (no tokenizer: splitting rule {pre!r} is not supported)"
    core = _core(cast(list[str], tokens), cast(list[str], merges), str(pre))
    _add_tokens(core, tokens, metadata.get("tokenizer.ggml.token_type"))
    special = {}
    for name, field in _SPECIAL.items():
        number = metadata.get(f"tokenizer.ggml.{name}_token_id")
        if isinstance(number, int) and 0 <= number < len(tokens):
            special[field] = tokens[number]
    if metadata.get("tokenizer.ggml.add_bos_token") and "bos_token" in special:
        _prepend(core, str(special["bos_token"]))
    transformers = need("transformers", "a tokenizer")
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, clean_up_tokenization_spaces=False, **special
    )
    if "tokenizer.chat_template" in metadata:
        wrapped.chat_template = metadata["tokenizer.chat_template"]
    return cast(Tokenizer, wrapped), ""


def _core(tokens: list[str], merges: list[str], pre: str) -> Any:  # noqa: ANN401 - the package has no types
    tokenizers = need("tokenizers", "a tokenizer")
    pre_tokenizers = tokenizers.pre_tokenizers
    vocabulary = {token: number for number, token in enumerate(tokens)}
    pairs = [cast(tuple[str, str], tuple(merge.split(" ", 1))) for merge in merges]
    # Llama 3 takes a whole word that is in the vocabulary before it looks at merges.
    model = tokenizers.models.BPE(vocabulary, pairs, ignore_merges=pre == "llama-bpe")
    core = tokenizers.Tokenizer(model)
    if pre in _SPLITS:
        pattern = tokenizers.Regex(_SPLITS[pre])
        first = pre_tokenizers.Split(pattern, behavior="isolated")
        rest = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        core.pre_tokenizer = pre_tokenizers.Sequence([first, rest])
    else:
        rest = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        digits = [pre_tokenizers.Digits(individual_digits=True)] if pre == "smollm" else []
        core.pre_tokenizer = pre_tokenizers.Sequence([*digits, rest])
    if pre == "qwen2":
        core.normalizer = tokenizers.normalizers.NFC()
    core.decoder = tokenizers.decoders.ByteLevel()
    return core


def _add_tokens(core: Any, tokens: list[Value], kinds: Value | None) -> None:  # noqa: ANN401 - as above
    tokenizers = need("tokenizers", "a tokenizer")
    if not isinstance(kinds, list):
        return
    for token, kind in zip(tokens, kinds, strict=True):
        added = tokenizers.AddedToken(token, normalized=False, special=kind == _CONTROL)
        if kind == _CONTROL:
            core.add_special_tokens([added])
        elif kind == _USER_DEFINED:
            core.add_tokens([added])


def _prepend(core: Any, bos: str) -> None:  # noqa: ANN401 - as above
    tokenizers = need("tokenizers", "a tokenizer")
    core.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos} $B",
        special_tokens=[(bos, core.token_to_id(bos))],
    )  # fmt: skip
