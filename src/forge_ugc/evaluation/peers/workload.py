"""The model that every engine is given, reduced to the one tensor that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from forge_ugc.errors import OptionError
from forge_ugc.loaders.load import load_model
from forge_ugc.loaders.loaded import LoadedModel


class OneResult(nn.Module):
    """A model that takes tensors by position and returns its first result.

    Of a model of transformers that is the logits of a language model at all positions, or the last
    hidden states of an encoder. All engines can leave out what only other results need.
    """

    def __init__(self, model: nn.Module, names: tuple[str, ...], positional: int = 0) -> None:
        super().__init__()
        self.model = model
        self._names, self._positional = names, positional

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """The first result; the model gets the first inputs by position, the others by name."""
        args, rest = inputs[: self._positional], inputs[self._positional :]
        found = self.model(*args, **dict(zip(self._names, rest, strict=True)))
        if isinstance(found, Mapping):
            found = next(iter(found.values()))
        first: torch.Tensor = found if isinstance(found, torch.Tensor) else found[0]
        return first


@dataclass(slots=True)
class Workload:
    """A module in eval mode and its example inputs.

    Attributes:
        vocabulary: token ids are below it; None where the inputs are no token ids.
    """

    module: nn.Module
    inputs: tuple[torch.Tensor, ...]
    names: tuple[str, ...]
    vocabulary: int | None = None

    @property
    def parameter_count(self) -> int:
        """Parameters; tied ones count once."""
        return sum(p.numel() for p in self.module.parameters())

    @property
    def linear_weight_count(self) -> int:
        """Elements of the weights of linear layers; tied ones count once."""
        weights = {
            weight.data_ptr(): weight.numel()
            for module in self.module.modules()
            # Conv1D is GPT-2's name for a linear layer with a transposed weight.
            if isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"
            for weight in (module.get_parameter("weight"),)
        }
        return sum(weights.values())

    def export(self) -> torch.export.ExportedProgram:
        """The module as torch.export records it, for engines that read that."""
        with torch.no_grad():
            return torch.export.export(self.module, self.inputs, strict=False)


def load_workload(spec: str, *, tokens: int, layers: int | None, empty: bool) -> Workload:
    """The model of `load_model` in float32, with its example inputs.

    With `layers` the weights of smollm2 do not apply: its shape gets random ones.
    """
    if spec == "smollm2" and (layers is not None or empty):
        spec = "shape:smollm2"
    loaded = load_model(spec, tokens=tokens, layers=layers, empty=empty)
    config: Any = getattr(loaded.module, "config", None)  # a transformers config, or none
    if config is None:
        return _plain(loaded, spec)
    names = ("input_ids",)[: len(loaded.args)] + tuple(loaded.kwargs)
    inputs = (*loaded.args, *loaded.kwargs.values())
    module = OneResult(loaded.module, names).eval().requires_grad_(False)
    tokens_in = "input_ids" in names
    vocabulary = getattr(config.get_text_config(), "vocab_size", None) if tokens_in else None
    return Workload(module, inputs, names, vocabulary)


def _plain(loaded: LoadedModel, spec: str) -> Workload:
    """A module that is none of transformers'."""
    inputs = (*loaded.args, *loaded.kwargs.values())
    if not all(isinstance(value, torch.Tensor) for value in inputs):
        raise OptionError(
            f"{spec} cannot be run beside other engines", why="its inputs are not all tensors",
            fix="give a module that takes tensors alone",
        )  # fmt: skip
    module = loaded.module.eval().requires_grad_(False)
    with torch.no_grad():
        result = module(*loaded.args, **loaded.kwargs)
    if loaded.kwargs or not isinstance(result, torch.Tensor):
        module = OneResult(module, tuple(loaded.kwargs), len(loaded.args)).eval()
    return Workload(module, inputs, tuple(f"input_{i}" for i in range(len(inputs))))


def tiny_workload() -> Workload:
    """Two linear layers: building them first brings in what an engine imports late."""
    module = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).eval()
    return Workload(module.requires_grad_(False), (torch.zeros(1, 4, 32),), ("input_0",))


def cast_parameters(module: nn.Module, dtype: torch.dtype) -> None:
    """Round the weights in place. Buffers stay: rotary frequencies are kept in float32.

    So does transformers itself when it loads a checkpoint in bfloat16; `module.to` would not.
    """
    for parameter in module.parameters():
        parameter.data = parameter.data.to(dtype)
