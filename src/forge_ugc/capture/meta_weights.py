"""Modules on the meta device, traced as if their parameters lay on the cpu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram

from forge_ugc.ops.core.deferred import Deferred, Provider, provided

_LOADED_AT_ONCE_BYTES = 4 << 20
"""Up to here a tensor is loaded when it is captured: passes may look at its values."""


class MetaWeights:
    """The meta tensors of a module, which a provider has the data of."""

    def __init__(self, module: nn.Module, provider: Provider) -> None:
        self.deferred = Deferred(provider)
        self._module, self._provider = module, provider
        self._name: dict[int, str] = {}
        self._loaded: dict[int, torch.Tensor] = {}
        self._by_path: dict[str, torch.Tensor] = {}
        named = (
            *module.named_parameters(remove_duplicate=False),
            *module.named_buffers(remove_duplicate=False),
        )
        for path, tensor in named:
            if tensor.device.type == "meta":
                self._by_path[path] = tensor
                self._name.setdefault(id(tensor), path)

    @contextmanager
    def on_cpu(self, inputs: Sequence[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
        """Fake cpu tensors in the place of the meta ones while the module is traced.

        Yields:
            The inputs as fake tensors of the same mode.
        """
        from torch.fx.experimental.symbolic_shapes import ShapeEnv  # takes a third of a second

        mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True, allow_non_fake_inputs=True)
        fakes: dict[int, torch.Tensor] = {}
        swapped: list[tuple[dict[str, torch.Tensor | None], str, torch.Tensor]] = []
        try:
            for module in self._module.modules():
                for store in (module._parameters, module._buffers):
                    for name, tensor in store.items():
                        if tensor is not None and tensor.device.type == "meta":
                            swapped.append((store, name, tensor))  # type: ignore[arg-type]
            for store, name, tensor in swapped:
                if id(tensor) not in fakes:
                    fakes[id(tensor)] = _fake(tensor, mode)
                store[name] = fakes[id(tensor)]
            yield [mode.from_tensor(t, static_shapes=True) for t in inputs]
        finally:
            for store, name, tensor in swapped:
                store[name] = tensor

    def restore(self, exported: ExportedProgram) -> dict[str, torch.Tensor]:
        """The exported tensors by name, with the module's own in the place of fake ones."""
        found = {**exported.constants, **exported.state_dict}
        for name in found:
            path = name.removeprefix("module.")
            if path in self._by_path:
                found[name] = self._by_path[path]
        return found

    def constant(self, tensor: torch.Tensor, *, state: bool) -> torch.Tensor:
        """What the graph holds for a tensor of the module: data, or a stand-in if it is large."""
        if id(tensor) not in self._name:
            return tensor
        if tensor.nbytes > _LOADED_AT_ONCE_BYTES and not state:
            self.deferred.add(tensor, self._name[id(tensor)])
            return tensor
        if id(tensor) not in self._loaded:
            name = self._name[id(tensor)]
            self._loaded[id(tensor)] = provided(self._provider, name, tensor)
        return self._loaded[id(tensor)]


def _fake(tensor: torch.Tensor, mode: FakeTensorMode) -> torch.Tensor:
    with mode:
        made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
    return nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else made
