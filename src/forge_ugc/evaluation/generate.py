"""Greedy text generation with a model of fixed input length."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from forge_ugc.errors import InputError, OptionError

Step = Callable[[torch.Tensor], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What was generated.

    Attributes:
        tokens: new token ids, without the prompt; ends with the end-of-text token if it came.
        step_seconds: wall clock of each model call, one a token.
    """

    tokens: tuple[int, ...]
    step_seconds: tuple[float, ...]

    @property
    def tokens_per_second(self) -> float:
        """Mean over all steps; 0 if nothing was generated."""
        total = sum(self.step_seconds)
        return len(self.step_seconds) / total if total else 0.0


def greedy(
    model: Step,
    prompt: Sequence[int],
    *,
    window: int,
    max_new_tokens: int,
    stop_tokens: Sequence[int] = (),
    on_token: Callable[[int], None] | None = None,
) -> Generation:
    """Append the most likely token again and again, with the whole prefix computed every time.

    The model sees i64[1, window]: the prefix and zeros to its right. Its logits at the last real
    position depend on nothing to the right of it, because the model must be causal.

    Args:
        model: returns logits [1, window, vocabulary], alone or as the first or `logits` field.
        prompt: token ids, at least one.
        window: token count that the model was compiled for.
        max_new_tokens: stop after so many.
        stop_tokens: stop after any of these.
        on_token: called with each new token as it comes.

    Raises:
        OptionError: the prompt is empty, or prompt and new tokens do not fit into the window.
        InputError: the model returns something else.
    """
    if not prompt:
        raise OptionError("the prompt is empty", fix="give at least one token")
    if len(prompt) + max_new_tokens > window + 1:
        raise OptionError(
            f"{len(prompt)} prompt and {max_new_tokens} new tokens do not fit",
            why=f"the model is compiled for {window} tokens",
            fix=f"ask for at most {max(window + 1 - len(prompt), 0)} new tokens, or compile with "
            f"more (--tokens {len(prompt) + max_new_tokens})",
        )
    ids = torch.zeros((1, window), dtype=torch.int64)
    ids[0, : len(prompt)] = torch.tensor(list(prompt))
    tokens: list[int] = []
    seconds: list[float] = []
    for position in range(len(prompt), len(prompt) + max_new_tokens):
        start = time.perf_counter()
        with torch.inference_mode():
            logits = _logits(model(ids), window)
            token = int(logits[0, position - 1].argmax())
        seconds.append(time.perf_counter() - start)
        tokens.append(token)
        if on_token is not None:
            on_token(token)
        if token in stop_tokens:
            break
        if position < window:
            ids[0, position] = token
    return Generation(tokens=tuple(tokens), step_seconds=tuple(seconds))


def _logits(output: object, window: int) -> torch.Tensor:
    found = output
    if isinstance(output, Mapping):
        found = output["logits"] if "logits" in output else next(iter(output.values()), None)
    elif isinstance(output, list | tuple) and output:
        found = output[0]
    if isinstance(found, torch.Tensor) and found.ndim == 3 and found.shape[:2] == (1, window):
        return found
    got = f"{found.dtype}{list(found.shape)}" if isinstance(found, torch.Tensor) else type(found)
    raise InputError(
        "the model returns no logits to generate text from",
        why=f"its first output is {got}, expected [1, {window}, vocabulary]",
        fix="use a causal language model",
    )


class TextStream:
    """Turns tokens into text as they come; holds back what may still change.

    A byte-level token can end inside a character: text is given out once it decodes cleanly.
    """

    def __init__(self, decode: Callable[[list[int]], str], write: Callable[[str], None]) -> None:
        self._decode, self._write = decode, write
        self._tokens: list[int] = []
        self._written = ""

    def add(self, token: int) -> None:
        """Take one more token and write the new part of the text."""
        self._tokens.append(token)
        text = self._decode(self._tokens)
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):
            self._write(text[len(self._written) :])
            self._written = text

    def close(self) -> None:
        """Write what was held back."""
        self._write(self._decode(self._tokens)[len(self._written) :])
