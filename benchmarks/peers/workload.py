"""The model that every engine is given, reduced to the one tensor that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from forge_ugc.loaders.load import load_model


class OneResult(nn.Module):
    """A model of transformers that takes tensors by position and returns its first result.

    That is the logits of a language model at all positions, or the last hidden states of an
    encoder; the cache is off. All engines can leave out what only other results need.
    """

    def __init__(self, model: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model = model
        self._names = names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        found = self.model(**dict(zip(self._names, inputs, strict=True)))
        return found if isinstance(found, torch.Tensor) else found[0]


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
            module.weight.data_ptr(): module.weight.numel()
            for module in self.module.modules()
            # Conv1D is GPT-2's name for a linear layer with a transposed weight.
            if isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"
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
        names = tuple(f"input_{i}" for i in range(len(loaded.args)))
        return Workload(loaded.module, loaded.args, names)
    names = ("input_ids",)[: len(loaded.args)] + tuple(loaded.kwargs)
    inputs = (*loaded.args, *loaded.kwargs.values())
    module = OneResult(loaded.module, names).eval().requires_grad_(False)
    return Workload(module, inputs, names, config.get_text_config().vocab_size)


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
