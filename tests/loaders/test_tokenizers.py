import pytest

from forge_ugc.errors import ArtifactError, OptionError
from forge_ugc.loaders.tokenizers import load_tokenizer


def test_smollm2():
    tokenizer = load_tokenizer("smollm2")
    assert tokenizer.decode(tokenizer.encode("Hello 42")) == "Hello 42"


def test_models_without_one(tmp_path, gguf_tools):
    for spec, why in (
        ("shape:gpt2", "random weights"),
        (str(tmp_path), "the folder has no tokenizer file"),
    ):
        with pytest.raises(OptionError, match=why):
            load_tokenizer(spec)
    gguf_tools.write(tmp_path / "m.gguf", gguf_tools.tiny())
    with pytest.raises(OptionError) as error:
        load_tokenizer(str(tmp_path / "m.gguf"))
    assert str(error.value) == (
        f"{tmp_path}/m.gguf has no tokenizer\n  why: kind None is not supported\n"
        "  fix: name a model with a tokenizer, such as --tokenizer smollm2"
    )
    with pytest.raises(ArtifactError, match="cannot read"):
        load_tokenizer(str(tmp_path / "none.gguf"))
