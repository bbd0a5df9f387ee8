"""Capture of a module as one functional FX graph with typed nodes and constants by storage."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import fx, nn
from torch._ops import OpOverload
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind

from forge_ugc.capture.arguments import caller, check_call, check_required
from forge_ugc.capture.assertions import tensorize_assertions
from forge_ugc.capture.block_report import RepeatedBlocksReport
from forge_ugc.capture.complex_numbers import tensorize_complex
from forge_ugc.capture.export import FlatModule
from forge_ugc.capture.graph_difference import graph_difference
from forge_ugc.capture.higher_order import inline_higher_order
from forge_ugc.capture.literals import is_literal
from forge_ugc.capture.meta_weights import MetaWeights
from forge_ugc.capture.node_types import type_nodes
from forge_ugc.capture.signature import Signature, bind, parameters_of
from forge_ugc.capture.structure import Flattener, Structure, TensorLeaf, leaves
from forge_ugc.errors import CaptureError, InternalError
from forge_ugc.ops.core.deferred import Provider
from forge_ugc.ops.core.torch_types import type_of

# torch.export keeps its tracing modes in globals. Reentrant: a module may compile in its forward.
_ONE_AT_A_TIME = threading.RLock()


@dataclass(frozen=True, slots=True)
class StoreTarget:
    """Where a trailing output of the graph goes: back into an input, or into a state."""

    kind: str
    name: str
    """For kind `input` the placeholder's name, for kind `state` the attribute's."""


@dataclass(frozen=True, slots=True)
class CapturedGraph:
    """The result of phase 1.

    Attributes:
        graph_module: placeholders are the flat input tensors; the output is a tuple of the flat
            output tensors followed by one value a store.
        signature: how a call's arguments become the placeholders.
        output: nesting of the flat outputs.
        stores: targets of the trailing values.
        nodes_by_operator: operator calls as captured, without metadata assertions.
        repeated_blocks: which blocks were traced once for several, and which were not and why.
    """

    graph_module: fx.GraphModule
    signature: Signature
    output: Structure
    stores: tuple[StoreTarget, ...]
    nodes_by_operator: Mapping[str, int]
    repeated_blocks: RepeatedBlocksReport = field(default_factory=RepeatedBlocksReport)


def capture(
    module: nn.Module,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    *,
    share_states: bool = False,
    weights: Provider | None = None,
    repeated_blocks: str = "auto",
) -> CapturedGraph:
    """Capture `module(*args, **kwargs)` for inference; neither module nor arguments are changed.

    Safe to call from several threads, which take turns.

    Args:
        module: any `nn.Module` on the cpu; its mode (train or eval) is kept as it is.
        args, kwargs: example arguments. Tensors become inputs, everything else is fixed.
        share_states: buffers that the module writes to stay the module's own memory, instead of
            being copied into states of the program.
        weights: provider of the parameters and buffers that lie on the meta device. Large ones are
            asked for later, see `forge_ugc.ops.core.deferred`.
        repeated_blocks: "auto" traces equal blocks of module lists once, "off" traces the whole
            model, "verify" does both and compares the graphs.

    Raises:
        CaptureError: the model cannot be one graph; names module path, source line and way out.
        InternalError: the two graphs of "verify" differ; names the first node that does.
    """
    once = repeated_blocks != "off"
    captured = _capture(module, args, kwargs, share_states, weights, once)
    if repeated_blocks == "verify":
        whole = _capture(module, args, kwargs, share_states, weights, False)
        different = graph_difference(captured.graph_module, whole.graph_module)
        if different is not None or captured.output != whole.output:
            raise InternalError(
                f"repeated blocks traced once differ from the whole model: {different}",
                fix='compile with Options(repeated_blocks="off"), and report this',
            )
    return captured


def _capture(
    module: nn.Module,
    args: Sequence[object],
    kwargs: Mapping[str, object] | None,
    share_states: bool,
    weights: Provider | None,
    once: bool,
) -> CapturedGraph:
    from forge_ugc.capture.exporting import export_module  # tracing imports sympy

    check_call(module, args, kwargs)
    parameters = parameters_of(module.forward)
    flattener = Flattener(merge=False)
    bound = bind(parameters, args, kwargs or {})
    check_required(module.forward, bound)
    structure = flattener.walk(bound, "argument")
    tensors = _separate([_example(t) for t in flattener.tensors])
    names = _leaf_names(structure, len(tensors))
    outputs: list[Structure] = []
    flat = FlatModule(module, structure, caller(parameters), outputs.append)
    meta = MetaWeights(module, weights) if weights is not None else None
    with _ONE_AT_A_TIME, meta.on_cpu(tensors) if meta else nullcontext(tensors) as inputs:
        exported, blocks = export_module(flat, inputs, repeated_blocks=once)
    held = _checked(meta.restore(exported) if meta else _tensors_of(exported))
    graph_module = exported.graph_module
    inline_higher_order(graph_module)
    tensorize_assertions(graph_module)
    tensorize_complex(graph_module)
    stores = _lift(graph_module, exported.graph_signature, held, names, share_states, meta)
    if meta is not None:
        meta.deferred.attach(graph_module)
    type_nodes(graph_module)
    called = [n.target for n in graph_module.graph.nodes if n.op == "call_function"]
    counts = Counter(str(t) if isinstance(t, OpOverload) else t.__name__ for t in called)
    signature = Signature(parameters, structure, names, tuple(type_of(t) for t in tensors))
    return CapturedGraph(graph_module, signature, outputs[-1], stores, dict(counts), blocks)


def _example(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.device.type not in {"cpu", "meta"} or tensor.layout != torch.strided:
        raise CaptureError(
            f"an example input lies on {tensor.device} ({tensor.layout})",
            fix="move model and inputs to the cpu as dense tensors before compiling",
        )
    return tensor.detach()


def _separate(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Give every input memory of its own: torch.export merges a tensor that is passed twice."""
    seen: set[int] = set()
    separate = []
    for tensor in tensors:
        storage = tensor.untyped_storage()._cdata
        if storage in seen:
            copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
            tensor = copy.copy_(tensor)
        seen.add(tensor.untyped_storage()._cdata)
        separate.append(tensor)
    return separate


def _leaf_names(structure: Structure, count: int) -> tuple[str, ...]:
    names = [""] * count
    for path, leaf in leaves(structure):
        if isinstance(leaf, TensorLeaf):
            names[leaf.index] = path
    return tuple(names)


def _tensors_of(exported: torch.export.ExportedProgram) -> dict[str, Any]:
    return {**exported.constants, **exported.state_dict}


def _checked(found: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    for name, value in found.items():
        if not isinstance(value, torch.Tensor):
            raise CaptureError(f"the model holds {name}, a {type(value).__name__}",
                               fix="keep plain tensors, parameters and buffers only")  # fmt: skip
        if (
            type(value) not in {torch.Tensor, nn.Parameter, nn.Buffer}
            or value.layout != torch.strided
        ):
            raise CaptureError(f"{name} is a {type(value).__name__} ({value.layout})",
                               fix="convert it to a plain dense tensor first")  # fmt: skip
    return dict(found)


def _lift(
    graph_module: fx.GraphModule,
    signature: ExportGraphSignature,
    tensors: Mapping[str, torch.Tensor],
    names: Sequence[str],
    share_states: bool,
    meta: MetaWeights | None,
) -> tuple[StoreTarget, ...]:
    """Turn parameter placeholders into get_attr nodes; order the outputs: user's, then stores."""
    graph = graph_module.graph
    specs = {s.arg.name: s for s in signature.input_specs}
    mutated = {*signature.buffers_to_mutate.values(), *signature.parameters_to_mutate.values()}
    user, taken = iter(names), set(dir(graph_module))
    attribute: dict[str, str] = {}
    by_name: dict[str, str] = {}
    for node in [n for n in graph.nodes if n.op == "placeholder"]:
        spec = specs[node.name]
        if spec.kind is InputKind.USER_INPUT:
            old = node.name
            node.meta["path"] = path = next(user)
            clean = re.sub(r"\W+", "_", path).strip("_") or "input"
            node.target = node.name = graph._graph_namespace.create_name(clean, None)
            by_name[old] = node.name
            continue
        fqn = str(spec.target)
        name = _attribute(fqn, taken)
        attribute[fqn] = name
        value = tensors[fqn]
        value = (meta.constant(value, state=fqn in mutated) if meta else value).detach()
        setattr(graph_module, name, value.clone() if fqn in mutated and not share_states else value)
        with graph.inserting_before(node):
            read = graph.create_node("get_attr", name)
        read.meta = {"val": node.meta.get("val"), "fqn": fqn.removeprefix("module.")}
        # Returned as it is, this tensor is the module's own; a literal in `forward` is made afresh.
        read.meta["module_owned"] = not is_literal(spec)
        if fqn in mutated:
            read.meta["state"] = True
        node.replace_all_uses_with(read)
        graph.erase_node(node)
    return _order_outputs(graph, signature, attribute, by_name)


def _attribute(fqn: str, taken: set[str]) -> str:
    name = base = re.sub(r"\W+", "_", fqn.removeprefix("module."))
    suffix = 0
    while name in taken:
        suffix += 1
        name = f"{base}_{suffix}"
    taken.add(name)
    return name


def _order_outputs(
    graph: fx.Graph,
    signature: ExportGraphSignature,
    attribute: Mapping[str, str],
    by_name: Mapping[str, str],
) -> tuple[StoreTarget, ...]:
    output = graph.output_node()
    values = list(cast(Any, output.args[0]))
    user: list[Any] = []
    stored: list[Any] = []
    targets: list[StoreTarget] = []
    for spec, value in zip(signature.output_specs, values, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT:
            user.append(value)
        elif spec.kind in {OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION}:
            targets.append(StoreTarget("state", attribute[str(spec.target)]))
            stored.append(value)
        elif spec.kind is OutputKind.USER_INPUT_MUTATION:
            targets.append(StoreTarget("input", by_name[str(spec.target)]))
            stored.append(value)
        else:
            raise CaptureError(
                f"the model writes to {spec.target} ({spec.kind.name.lower()})",
                fix="keep what changes between calls in buffers, and call the model in eval mode",
            )
    output.args = (tuple(user + stored),)
    return tuple(targets)
