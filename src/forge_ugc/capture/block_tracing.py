"""What a call of a block was given, what it did, and whether its operators express all of it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import fx, nn
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import get_proxy_slot

from forge_ugc.capture.opaque import END, OutputMeta, mark
from forge_ugc.capture.structure import Container, Flattener, StaticLeaf, Structure
from forge_ugc.errors import CaptureError

_IN = frozenset({"list", "tuple", "namedtuple"})
_OUT = _IN | {"dataclass"}
_DETACH = torch.ops.aten.detach_.default
"""Of every `torch.tensor(0.5)`; writes nothing."""
_NOTHING = StaticLeaf(None)


class Unprovable(Exception):
    """A block cannot be shown to be a copy of another; the text says why."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call: the tensors, each once, and a key that is equal for equal kinds."""

    structure: Structure
    tensors: list[torch.Tensor]
    key: object


@dataclass(slots=True)
class Region:
    """A block that was traced.

    Attributes:
        refused: why it may not serve for other blocks; None if it may.
        output: nesting of what it returned.
        output_tensors: for each tensor there ("made", position among `results`) or
            ("input", position among the arguments' tensors).
        results: of the tensors that it made.
        moved: positions of arguments that a call without effect (`x.to(its dtype)`) put its own
            name on; they follow the results at the end mark.
        begin: the mark of its beginning in the trace.
    """

    number: int
    path: str
    arguments: Arguments
    refused: str | None = None
    output: Structure = _NOTHING
    output_tensors: tuple[tuple[str, int], ...] = ()
    results: tuple[OutputMeta, ...] = ()
    moved: tuple[int, ...] = ()
    begin: fx.Node | None = None


def state_of_torch() -> object:
    """PyTorch's modes that change what an operator call does."""
    stack = torch.overrides._get_current_function_mode_stack()
    return (
        torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"),
        torch.get_default_dtype(), torch.is_inference_mode_enabled(),
        tuple((type(mode), repr(getattr(mode, "device", None))) for mode in stack),
    )  # fmt: skip


def own_nodes(block: nn.Module, tracer: Any) -> dict[int, fx.Node]:  # noqa: ANN401
    """The placeholder of every parameter and buffer of a block, by `id` of the tensor.

    Raises:
        Unprovable: one of them was replaced while the model ran.
    """
    nodes = {}
    for path, module in block.named_modules():
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None:
                node = _node(tensor, tracer)
                if node is None or node.op != "placeholder":
                    place = f"{path}.{name}" if path else name
                    raise Unprovable(f"its {place} was replaced while the model ran")
                nodes[id(tensor)] = node
    return nodes


def check_own(block: nn.Module, own: Mapping[int, fx.Node]) -> None:
    """Check that a block still holds the tensors that it held before it ran.

    Raises:
        Unprovable: it replaced one, which becomes a state of the program.
    """
    for path, module in block.named_modules():
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None and id(tensor) not in own:
                raise Unprovable(f"its forward replaces {path}.{name}" if path else
                                 f"its forward replaces {name}")  # fmt: skip


def arguments_of(
    args: Sequence[object], kwargs: Mapping[str, object], tracer: Any,  # noqa: ANN401
    own: Mapping[int, fx.Node],
) -> Arguments:  # fmt: skip
    """Flatten the arguments of a block.

    Raises:
        Unprovable: an object that tracing cannot look into (a cache), or a tensor whose value is
            known while tracing, so that the block may compute with it outside of the graph.
    """
    structure, tensors = _flat({"args": tuple(args), "kwargs": dict(kwargs)}, "argument", _IN)
    metas = []
    if not tensors:
        raise Unprovable("it takes no tensor")
    for tensor in tensors:
        slot = get_proxy_slot(tensor, tracer, None)
        if slot is None or not isinstance(tensor, FakeTensor):
            raise Unprovable("an argument is a tensor that is no value of the graph")
        if slot.constant is not None or tensor.constant is not None:
            raise Unprovable("the value of an argument is known while tracing")
        if id(tensor) in own:
            raise Unprovable("it is given its own parameter as an argument")
        metas.append(_meta(tensor))
    return Arguments(structure, tensors, (repr(structure), tuple(metas)))


def finish_region(
    region: Region, own: Mapping[int, fx.Node], tracer: Any, begin: fx.Node,  # noqa: ANN401
    given: tuple[Sequence[object], Mapping[str, object]], returned: object,
) -> None:  # fmt: skip
    """Mark the end of a block's trace and complete `region`.

    Args:
        own: placeholders of the block's parameters and buffers, before it ran.
        begin: the mark of the beginning.
        given, returned: arguments and result of the call.

    Raises:
        Unprovable: the block did something that its operators do not express: it changed an
            argument, wrote to memory, read a tensor that is not its own, took a number
            out of a tensor, or returned what is no tensor.
    """
    again = _flat({"args": tuple(given[0]), "kwargs": dict(given[1])}, "argument", _IN)
    before = region.arguments
    if again[0] != before.structure or list(map(id, again[1])) != list(map(id, before.tensors)):
        raise Unprovable("its forward changes a container among its arguments")
    nodes, inputs = _after(begin), cast(list[fx.Node], begin.args[0])
    _check_nodes(nodes, {*inputs, *own.values()})
    region.output, tensors = _flat(returned, "output", _OUT)
    positions = {id(t): at for at, t in enumerate(before.tensors)}
    made: list[torch.Tensor] = []
    places: list[tuple[str, int]] = []
    inner = set(nodes)
    for tensor in tensors:
        if id(tensor) in positions:
            places.append(("input", positions[id(tensor)]))
            continue
        if _node(tensor, tracer) not in inner or not _is_ordinary(tensor):
            raise Unprovable("it returns a tensor that it did not compute")
        places.append(("made", len(made)))
        made.append(tensor)
    if not made:
        raise Unprovable("it computes nothing")
    region.moved = tuple(
        at for at, t in enumerate(before.tensors) if _node(t, tracer) is not inputs[at]
    )
    region.output_tensors = tuple(places)
    region.results = tuple(OutputMeta(tuple(t.shape), t.stride(), t.dtype, t.device) for t in made)
    mark(END, [*made, *(before.tensors[at] for at in region.moved)], region.number, tracer)


def _flat(value: object, name: str, kinds: frozenset[str]) -> tuple[Structure, list[torch.Tensor]]:
    flattener = Flattener(merge=True)
    try:
        structure = flattener.walk(value, name)
    except CaptureError as error:
        raise Unprovable(str(error).splitlines()[0]) from error
    _check_kinds(structure, kinds)
    return structure, flattener.tensors


def _check_kinds(structure: Structure, kinds: frozenset[str]) -> None:
    if isinstance(structure, Container):
        known = structure.cls is dict if structure.kind == "dict" else structure.kind in kinds
        if not known:
            raise Unprovable(f"it takes or returns a {structure.type_name}")
        for item in structure.items:
            _check_kinds(item, kinds)


def _node(tensor: torch.Tensor, tracer: Any) -> fx.Node | None:  # noqa: ANN401
    slot = get_proxy_slot(tensor, tracer, None)
    return None if slot is None else slot.proxy.node


def _meta(tensor: torch.Tensor) -> object:
    if not all(type(n) is int for n in (*tensor.shape, *tensor.stride())):
        raise Unprovable("the size of an argument depends on values")
    return (
        tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(),
        str(tensor.device), str(tensor.layout), tensor.requires_grad, tensor.is_conj(),
        tensor.is_neg(), type(tensor),
    )  # fmt: skip


def _is_ordinary(tensor: torch.Tensor) -> bool:
    """True if shape, strides and dtype are all that an equal tensor needs."""
    plain = isinstance(tensor, FakeTensor) and tensor.layout == torch.strided
    whole = all(type(n) is int for n in (*tensor.shape, *tensor.stride(), tensor.storage_offset()))
    first = whole and tensor.storage_offset() == 0 and not tensor.requires_grad
    return plain and first and not tensor.is_conj() and not tensor.is_neg()


def _after(begin: fx.Node) -> list[fx.Node]:
    nodes = []
    node = begin.next
    while node.op != "root":
        nodes.append(node)
        node = node.next
    return nodes


def _check_nodes(nodes: Sequence[fx.Node], outer: set[fx.Node]) -> None:
    known = set(outer)
    for node in nodes:
        target = node.target
        if node.op == "call_function":
            if isinstance(target, OpOverload):
                if target._schema.is_mutable and target is not _DETACH:
                    raise Unprovable(f"it writes to memory ({target})")
            elif target is not operator.getitem:
                raise Unprovable(f"it calls {getattr(target, '__name__', target)}")
        elif node.op != "get_attr" or not str(target).startswith("_tensor_constant"):
            raise Unprovable(f"its trace holds a {node.op}")
        if any(operand not in known for operand in node.all_input_nodes):
            raise Unprovable("it reads a tensor that is neither its own nor an argument")
        _check_value(node.meta.get("val"))
        known.add(node)


def _check_value(value: object) -> None:
    if isinstance(value, list | tuple):
        for item in value:
            _check_value(item)
    elif isinstance(value, torch.Tensor):
        if any(type(n) is not int for n in (*value.shape, *value.stride())):
            raise Unprovable("a size depends on values of a tensor")
    elif value is not None:
        raise Unprovable("it turns a tensor into a Python number")
