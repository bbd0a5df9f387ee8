"""Products with weights in one call of a PyTorch module, as PyTorch executes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Which operand is the left matrix; batched products are those of attention, which has no weights.
_LEFT = {
    torch.ops.aten.mm.default: 0,
    torch.ops.aten.addmm.default: 1,
    torch.ops.aten.linear.default: 0,
}


class _Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[tuple[int, int, int]] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the operator returns
        if func in _LEFT:
            left, right = args[_LEFT[func] :][:2]
            outputs = right.shape[0 if func is torch.ops.aten.linear.default else 1]
            depth = left.shape[-1]
            self.found.append((left.numel() // depth, depth, outputs))
        return func(*args, **(kwargs or {}))


def record_linears(call: Callable[[], object]) -> list[tuple[int, int, int]]:
    """(rows, inputs, outputs) of every matrix product, in order."""
    recorder = _Recorder()
    with recorder:
        call()
    return recorder.found
