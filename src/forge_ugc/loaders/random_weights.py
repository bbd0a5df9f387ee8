"""Construction of modules with seeded or with unwritten weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

_LARGE = 1 << 16


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
