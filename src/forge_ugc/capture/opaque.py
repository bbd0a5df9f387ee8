"""Operators that mark where a block begins and ends in a trace, and that stand for a block."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import (
    _ProxyTensor,
    disable_proxy_modes_tracing,
    get_proxy_slot,
    set_proxy_slot,
)

_LIBRARY = torch.library.Library("forge_capture", "DEF")
_LIBRARY.define("block_begin(Tensor[] inputs, int number) -> ()")
_LIBRARY.define("block_end(Tensor[] outputs, int number) -> ()")
_LIBRARY.define("block_call(Tensor[] inputs, int number) -> Tensor[]")

BEGIN = torch.ops.forge_capture.block_begin.default
END = torch.ops.forge_capture.block_end.default
CALL = torch.ops.forge_capture.block_call.default
"""They stand in graphs only while a model is captured, and never run."""

new_number = itertools.count().__next__
"""A number that no other region and no other call in this process has."""


@dataclass(frozen=True, slots=True)
class OutputMeta:
    """Shape, strides in elements, dtype and device of one result of a block."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device


def record(
    target: object, tensors: Sequence[torch.Tensor], number: int, results: Sequence[OutputMeta],
    tracer: Any, mode: FakeTensorMode,  # noqa: ANN401 - private class of PyTorch
) -> list[torch.Tensor]:  # fmt: skip
    """Put a call into the graph that is being traced; returns new fake tensors for its results.

    Straight into the graph: the way through PyTorch's dispatcher takes a few milliseconds.
    """
    traces, tracer.record_stack_traces = tracer.record_stack_traces, False
    try:
        inputs = [get_proxy_slot(t, tracer).proxy for t in tensors]
        proxy = tracer.create_proxy("call_function", target, (inputs, number), {})
        if not results:
            return []
        with torch._C.DisableTorchFunction(), disable_proxy_modes_tracing(), mode:
            made = [
                torch.empty_strided(m.shape, m.strides, dtype=m.dtype, device=m.device)
                for m in results
            ]
        proxy.node.meta["val"] = made
        for position, tensor in enumerate(made):
            item = proxy[position]
            item.node.meta["val"] = tensor
            set_proxy_slot(tensor, tracer, _ProxyTensor(item, None))
        return made
    finally:
        tracer.record_stack_traces = traces
