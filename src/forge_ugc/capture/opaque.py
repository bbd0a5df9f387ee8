"""Operators that mark where a block begins and ends in a trace, and that stand for a block."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
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


def mark(
    target: object, tensors: Sequence[torch.Tensor], number: int, tracer: Any  # noqa: ANN401
) -> fx.Node:  # fmt: skip
    """Put a mark without results into the graph that is being traced."""
    traces, tracer.record_stack_traces = tracer.record_stack_traces, False
    try:
        inputs = [get_proxy_slot(t, tracer).proxy for t in tensors]
        return cast(
            fx.Node, tracer.create_proxy("call_function", target, (inputs, number), {}).node
        )
    finally:
        tracer.record_stack_traces = traces


def stand_in(
    tensors: Sequence[torch.Tensor], number: int, results: Sequence[OutputMeta],
    moved: Sequence[torch.Tensor], like: fx.Node, tracer: Any,  # noqa: ANN401 - private class
) -> list[torch.Tensor]:  # fmt: skip
    """Put a call that stands for a block into the graph; returns fake tensors for its results.

    Straight into the graph: the way through PyTorch's dispatcher takes a few milliseconds.

    Args:
        moved: arguments that are known by further results of the call from now on.
        like: a node whose modules the new ones claim, until copies take their place.
    """
    graph = tracer.graph
    mode = cast(FakeTensor, tensors[0]).fake_mode
    with torch._C.DisableTorchFunction(), disable_proxy_modes_tracing(), mode:
        made = [
            torch.empty_strided(m.shape, m.strides, dtype=m.dtype, device=m.device) for m in results
        ]
    values = [*made, *moved]
    inputs = [get_proxy_slot(t, tracer).proxy.node for t in tensors]
    node = graph.create_node("call_function", CALL, (inputs, number))
    node.meta = {"val": values, "nn_module_stack": like.meta["nn_module_stack"]}
    for position, tensor in enumerate(values):
        item = graph.create_node("call_function", operator.getitem, (node, position))
        item.meta = {"val": tensor, "nn_module_stack": like.meta["nn_module_stack"]}
        set_proxy_slot(tensor, tracer, _ProxyTensor(fx.Proxy(item, tracer), None))
    return made
