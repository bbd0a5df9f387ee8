import pytest

from forge_ugc.loaders.gguf_tokenizer import build

TOKENS = [
    "<s>", "</s>", "1", "2", "a", "b", "Ġ", "ab", "12", "Ġa", "Ġab", "Ċ", "<user>", "Ã", "©",
    "Ã©",
]  # fmt: skip
MERGES = ["Ġ a", "Ġa b", "a b", "1 2", "Ã ©"]


def metadata(**changes):
    kinds = [3, 3, *[1] * 10, 4, 1, 1, 1]
    found = {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS, "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.token_type": kinds, "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
    }  # fmt: skip
    return found | {f"tokenizer.ggml.{key}": value for key, value in changes.items()}


def words(tokenizer, text):
    return [TOKENS[i] for i in tokenizer.encode(text)]


def test_smollm_splits_digits_and_gpt2_does_not():
    assert words(build(metadata())[0], "ab 12") == ["ab", "Ġ", "1", "2"]
    assert words(build(metadata(pre="gpt-2"))[0], "ab12") == ["ab", "12"]


def test_round_trip_with_control_and_user_tokens():
    tokenizer, note = build(metadata())
    assert note == ""
    assert tokenizer.eos_token_id == 1
    ids = tokenizer.encode("ab<user> ab é</s>")
    assert [TOKENS[i] for i in ids] == ["ab", "<user>", "Ġab", "Ġ", "Ã©", "</s>"]
    assert tokenizer.decode(ids) == "ab<user> ab é</s>"


def test_bos_is_prepended_if_the_file_asks():
    assert words(build(metadata(add_bos_token=True))[0], "ab") == ["<s>", "ab"]


def test_llama3_groups_three_digits_and_takes_whole_words():
    tokenizer, _ = build(metadata(pre="llama-bpe"))
    assert words(tokenizer, "12") == ["12"]
    whole, _ = build(metadata(pre="llama-bpe", merges=["a b"]))
    assert words(whole, " ab") == ["Ġab"]


@pytest.mark.parametrize("pre", ["smollm", "gpt-2", "llama-bpe", "qwen2"])
def test_round_trip_of_every_rule(pre):
    tokenizer, _ = build(metadata(pre=pre))
    assert tokenizer.decode(tokenizer.encode("ab a 12\nb")) == "ab a 12\nb"


def test_unsupported_kinds_are_told():
    assert build(metadata(model="llama")) == (
        None, " (no tokenizer: kind 'llama' is not supported)",
    )  # fmt: skip
    assert build(metadata(pre="tekken")) == (
        None, " (no tokenizer: splitting rule 'tekken' is not supported)",
    )  # fmt: skip
