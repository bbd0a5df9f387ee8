"""Construction of modules with seeded, unwritten or later weights."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

_LARGE = 1 << 16
_DEVIATION = 0.02
"""Standard deviation of weights that are made later, as transformers initialises most models."""


class _SkipLargeFills(TorchFunctionMode):
    """Leaves parameters of more than 65,536 elements as they were allocated.

    Everything else runs: small parameters (biases, norm weights) and all buffers get true values.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the intercepted function returns
        kwargs = kwargs or {}
        tensor = args[0] if args else kwargs.get("tensor")
        name = getattr(func, "__name__", "")
        writes = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
        if writes and isinstance(tensor, nn.Parameter) and tensor.numel() > _LARGE:
            return tensor
        return func(*args, **kwargs)


@contextmanager
def weights(*, seed: int, empty: bool) -> Iterator[None]:
    """Modules built inside get seeded weights, or unwritten ones that take no memory.

    The global random state is as before afterwards.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if empty:
            with _SkipLargeFills():
                yield
        else:
            yield


def postpone(module: nn.Module, seed: int) -> Callable[[str], torch.Tensor]:
    """Put the module's large parameters on the meta device; returns the provider of them.

    The provider makes normal numbers, those of a name the same each time.
    """
    large = {n: p for n, p in module.named_parameters() if p.numel() > _LARGE}
    kinds = {name: (p.shape, p.dtype) for name, p in large.items()}
    stand_ins = {
        id(p): nn.Parameter(torch.empty_like(p, device="meta"), p.requires_grad)
        for p in large.values()
    }
    for m in module.modules():
        for name, parameter in m._parameters.items():
            if parameter is not None and id(parameter) in stand_ins:
                m._parameters[name] = stand_ins[id(parameter)]

    def provider(name: str) -> torch.Tensor:
        shape, dtype = kinds[name]
        random = torch.Generator().manual_seed(zlib.crc32(f"{seed} {name}".encode()))
        return torch.empty(shape, dtype=dtype).normal_(0, _DEVIATION, generator=random)

    return provider
