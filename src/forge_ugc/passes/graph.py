"""What passes need to read and write FX graphs: types, constants, source locations, new nodes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import torch
from torch import fx
from torch._ops import OpOverload, OpOverloadPacket

from forge_ugc.npuir.instruction import SourceLocation
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.infer import infer
from forge_ugc.ops.core.op import Op
from forge_ugc.ops.core.schema import bind, opcode_of
from forge_ugc.ops.core.torch_types import type_of

aten = torch.ops.aten
NodeType = TensorType | tuple[TensorType, ...] | None


def node_type(node: fx.Node) -> NodeType:
    """The type that capture or a pass recorded; a tuple for operators with several results."""
    return cast(NodeType, node.meta.get("type"))


def tensor_type(value: object) -> TensorType | None:
    """The type of a single-tensor node; None for anything else."""
    kind = value.meta.get("type") if isinstance(value, fx.Node) else None
    return kind if isinstance(kind, TensorType) else None


def is_call(value: object, *targets: OpOverload | OpOverloadPacket) -> bool:
    """True if the value is a call of one of these operators (a packet stands for all overloads)."""
    if not isinstance(value, fx.Node) or value.op != "call_function":
        return False
    target = value.target
    return any(
        target is t or (isinstance(target, OpOverload) and target.overloadpacket is t)
        for t in targets
    )


def is_state(node: fx.Node) -> bool:
    """True if the node reads a state, which changes from call to call."""
    return node.op == "get_attr" and bool(node.meta.get("state"))


def constant_of(node: object) -> torch.Tensor | None:
    """The tensor that a constant's node holds; None for anything that is not a constant."""
    if isinstance(node, fx.Node) and node.op == "get_attr" and not is_state(node):
        found = getattr(cast(fx.GraphModule, node.graph.owning_module), str(node.target))
        return found if isinstance(found, torch.Tensor) else None
    return None


def add_constant(anchor: fx.Node, hint: str, value: torch.Tensor) -> fx.Node:
    """Put a constant into the graph, just before `anchor`, and return the node that reads it."""
    module = cast(fx.GraphModule, anchor.graph.owning_module)
    name = base = re.sub(r"\W", "_", hint)
    suffix = 0
    while hasattr(module, name):
        suffix += 1
        name = f"{base}_{suffix}"
    setattr(module, name, value)
    with anchor.graph.inserting_before(anchor):
        node = anchor.graph.create_node("get_attr", name)
    node.meta["type"] = type_of(value)
    return node


def emit(
    anchor: fx.Node,
    target: OpOverload | Op,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    by: str,
    origin: fx.Node | None = None,
    kind: NodeType = None,
) -> fx.Node:
    """Insert a call before `anchor` with its type, stamped with pass and source.

    Args:
        target: a PyTorch operator, or one of our operators with its attributes set.
        args, kwargs: its arguments; for our operators the operands only.
        by: name of the pass or rewrite, kept in `meta["origin"]`.
        origin: node whose source location is inherited; `anchor` if None.
        kind: the result's type, if the caller knows it; inferred if None.
    """
    overload = target if isinstance(target, OpOverload) else target.overload()
    named = dict(kwargs or {}) if isinstance(target, OpOverload) else target.attributes()
    with anchor.graph.inserting_before(anchor):
        node = anchor.graph.call_function(overload)
    # Given to `call_function`, they would be searched for symbolic numbers; there are none.
    node.args, node.kwargs = tuple(args), named
    inherit_source(node, origin or anchor)
    node.meta["origin"] = by
    node.meta["type"] = infer_call(overload, args, named) if kind is None else kind
    return node


def inherit_source(node: fx.Node, origin: fx.Node) -> None:
    """Let `location(node)` be that of `origin`."""
    for key in ("stack_trace", "nn_module_stack"):
        if key in origin.meta:
            node.meta[key] = origin.meta[key]


def infer_call(
    overload: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> TensorType | tuple[TensorType, ...]:
    """The type of a call from the recorded types of its arguments; a tuple for several results.

    Raises:
        VerificationError: the arguments break the operator's type rule.
    """
    operands, attributes = bind(overload, args, kwargs, cast(Any, _typed))
    kinds = infer(opcode_of(overload), operands, attributes)
    returns = overload._schema.returns
    many = len(returns) != 1 or str(returns[0].type) != "Tensor"
    return kinds if many else kinds[0]


def _typed(value: Any) -> Any:  # noqa: ANN401 - a node, a number, or a list of them
    if isinstance(value, fx.Node):
        return node_type(value)
    if isinstance(value, list | tuple):
        return tuple(None if item is None else _typed(item) for item in value)
    return value


@lru_cache(maxsize=1024)
def _short(file: str) -> str:
    """The path from the folder that Python imports it from: no machine's paths in artifacts."""
    roots = [str(Path(root or ".").resolve()) for root in sys.path]
    parents = [root for root in roots if file.startswith(root + os.sep)]
    return file[len(max(parents, key=len)) + 1 :] if parents else os.path.basename(file)


_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


@lru_cache(maxsize=4096)
def _innermost(trace: str) -> tuple[str, int]:
    """File and line of the last frame; copies of a block share their traces."""
    frames = _FRAME.findall(trace)
    return (_short(frames[-1][0]), int(frames[-1][1])) if frames else ("", 0)


def location(node: fx.Node) -> SourceLocation:
    """Module path and innermost source line of the user's code that a node comes from."""
    module = ""
    stack = node.meta.get("nn_module_stack")
    if stack:
        path = next(reversed(stack.values()))[0]
        module = re.sub(r"^(L\[.self.\]\.?)?(module\.?)?", "", path)
    file, line = _innermost(node.meta.get("stack_trace") or "")
    return SourceLocation(file=file, line=line, module=module)


def calls(graph: fx.Graph) -> list[fx.Node]:
    """All operator calls in topological order."""
    return [node for node in graph.nodes if node.op == "call_function"]
