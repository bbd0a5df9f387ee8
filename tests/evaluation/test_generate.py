import pytest
import torch

from forge_ugc.errors import InputError, OptionError
from forge_ugc.evaluation.generate import TextStream, greedy

VOCAB = 10


def successor(ids):
    """Causal: the logits at each position name the token there plus one."""
    return torch.nn.functional.one_hot((ids + 1) % VOCAB, VOCAB).float()


def test_counts_up_with_the_prefix_in_the_window():
    seen = []

    def model(ids):
        seen.append(ids.clone())
        return {"logits": successor(ids)}

    streamed = []
    made = greedy(model, [3, 4], window=6, max_new_tokens=4, on_token=streamed.append)
    assert made.tokens == (5, 6, 7, 8)
    assert streamed == [5, 6, 7, 8]
    assert len(made.step_seconds) == 4
    assert made.tokens_per_second > 0
    assert seen[0].tolist() == [[3, 4, 0, 0, 0, 0]]
    assert seen[-1].tolist() == [[3, 4, 5, 6, 7, 0]]
    assert seen[0].dtype == torch.int64


def test_the_last_token_needs_no_place_in_the_window():
    assert greedy(successor, [1], window=3, max_new_tokens=3).tokens == (2, 3, 4)
    with pytest.raises(OptionError) as error:
        greedy(successor, [1], window=3, max_new_tokens=4)
    assert str(error.value) == (
        "1 prompt and 4 new tokens do not fit\n  why: the model is compiled for 3 tokens\n"
        "  fix: ask for at most 3 new tokens, or compile with more (--tokens 5)"
    )


def test_stops_after_a_stop_token():
    made = greedy(successor, [1], window=8, max_new_tokens=6, stop_tokens=[4])
    assert made.tokens == (2, 3, 4)


def test_nothing_asked_nothing_made():
    made = greedy(successor, [1], window=8, max_new_tokens=0)
    assert made.tokens == ()
    assert made.tokens_per_second == 0


@pytest.mark.parametrize(
    "wrap", [lambda x: x, lambda x: (x, None), lambda x: {"logits": x}, lambda x: {"a": x}]
)
def test_forms_of_output(wrap):
    made = greedy(lambda ids: wrap(successor(ids)), [1], window=4, max_new_tokens=2)
    assert made.tokens == (2, 3)


def test_other_outputs_are_refused():
    for output in (torch.zeros(1, 4), torch.zeros(2, 4, 5), None, ()):
        with pytest.raises(InputError, match="no logits to generate text from"):
            greedy(lambda ids, output=output: output, [1], window=4, max_new_tokens=1)
    with pytest.raises(OptionError, match="the prompt is empty"):
        greedy(successor, [], window=4, max_new_tokens=1)


def test_stream_holds_back_split_characters():
    pieces = {0: b"a", 1: b"\xc3", 2: b"\xa9", 3: b"z"}
    written = []
    stream = TextStream(
        lambda ids: b"".join(pieces[i] for i in ids).decode("utf-8", "replace"), written.append
    )
    for token in (0, 1, 2, 3):
        stream.add(token)
    assert written == ["a", "é", "z"]
    stream.add(1)
    stream.close()
    assert written[-1] == "\ufffd"
