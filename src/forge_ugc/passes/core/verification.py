"""Execution of a graph before and after a pass, to compare the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from forge_ugc.errors import InternalError, VerificationError
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.compare import assert_close, largest_difference
from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.passes.graph import node_type

Outputs = tuple[torch.Tensor | None, ...]
_SEED = 20


def run_graph(graph_module: fx.GraphModule, inputs: Sequence[torch.Tensor], when: str) -> Outputs:
    """The graph's results, as plain PyTorch, with a fixed seed; the user's generator is untouched.

    Args:
        when: `as captured` or `after NAME`, for the message.

    Raises:
        InternalError: the graph does not run.
    """
    interpreter = fx.Interpreter(graph_module)
    interpreter.extra_traceback = False
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        try:
            results: Any = interpreter.run(*inputs, enable_io_processing=False)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            raise InternalError(
                f"the graph does not run {when}", why=str(error).splitlines()[0]
            ) from error
    return tuple(results)


def compare(
    name: str, old: Outputs, new: Outputs, graph_module: fx.GraphModule, *, bounded: bool = True
) -> float:
    """The largest absolute difference of the results before and after the pass `name`.

    Args:
        bounded: False for a pass that approximates: values may differ by any amount.

    Raises:
        InternalError: results differ in number, shape, dtype or by more than rounding explains.
    """
    if [t is None for t in old] != [t is None for t in new]:
        raise _fault(name, f"the graph returned {len(old)} results before, {len(new)} after")
    reduce_len = _longest_axis(graph_module)
    dtype = _narrowest_float(graph_module)
    largest = 0.0
    for index, (want, got) in enumerate(zip(old, new, strict=True)):
        if want is None or got is None:
            continue
        try:
            _check(got, want, dtype, reduce_len, bounded)
        except VerificationError as error:
            raise _fault(name, f"result {index}: {error.what} {error.why}".rstrip()) from error
        largest = max(largest, largest_difference(got, want))
    return largest


def _check(
    got: torch.Tensor, want: torch.Tensor, dtype: torch.dtype, reduce_len: int, bounded: bool
) -> None:
    if bounded:
        assert_close(got, want, dtype, reduce_len)
    elif (got.shape, got.dtype) != (want.shape, want.dtype):
        raise VerificationError(f"it is {type_of(got)}, expected {type_of(want)}")


def _fault(name: str, why: str) -> InternalError:
    return InternalError(
        f"the pass {name} changed what the graph computes",
        why=why,
        fix=f"leave it out with disable={{{name!r}}}, and report the graphs that dump_ir writes",
    )


def _kinds(graph_module: fx.GraphModule) -> list[TensorType]:
    found = []
    for node in graph_module.graph.nodes:
        kind = node_type(node)
        found += [k for k in (kind if isinstance(kind, tuple) else (kind,)) if k is not None]
    return found


def _longest_axis(graph_module: fx.GraphModule) -> int:
    return max((d for kind in _kinds(graph_module) for d in kind.shape), default=1)


def _narrowest_float(graph_module: fx.GraphModule) -> torch.dtype:
    """The dtype whose rounding any result may carry."""
    names = {kind.dtype.value for kind in _kinds(graph_module)}
    for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16), ("f32", torch.float32)):
        if name in names:
            return dtype
    return torch.float64
