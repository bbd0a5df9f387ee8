"""Expansion of the calls that stand for blocks, into copies of the block that was traced."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, TensorArgument

from forge_ugc.capture.literals import is_literal
from forge_ugc.capture.opaque import BEGIN, CALL, END
from forge_ugc.errors import CaptureError

_MARKS = (BEGIN, END, CALL)
_CHECK = torch.ops.aten._assert_tensor_metadata.default


class NotStampable(CaptureError):
    """The exported graph does not hold the blocks as they were traced."""


@dataclass(frozen=True, slots=True)
class StampedCall:
    """A call that stands for a block: the region that it copies, and both module paths."""

    region: int
    traced: str
    path: str


def expand(
    exported: ExportedProgram, regions: Mapping[int, str], calls: Mapping[int, StampedCall]
) -> None:
    """Replace every call by a copy of its region, reading the block's own parameters, in place.

    Nothing is left of the marks. Linear in the number of nodes.

    Args:
        regions: path of the traced block by number of its region.
        calls: by their number.

    Raises:
        NotStampable: a mark is missing, or a region reads what belongs to neither its block nor
            its inputs. The program is then of no use.
    """
    graph = exported.graph
    marks: dict[tuple[object, int], fx.Node] = {
        (n.target, cast(int, n.args[1])): n
        for n in graph.nodes
        if n.op == "call_function" and n.target in _MARKS
    }
    fqns = {
        spec.arg.name: str(spec.target)
        for spec in exported.graph_signature.input_specs
        if spec.kind in {InputKind.PARAMETER, InputKind.BUFFER}
    }
    lifted = {s.arg.name for s in exported.graph_signature.input_specs if is_literal(s)}
    by_fqn = {fqns[n.name]: n for n in graph.nodes if n.op == "placeholder" and n.name in fqns}
    copies = {
        number: _Region(number, path, marks, fqns, lifted) for number, path in regions.items()
        if any(call.region == number for call in calls.values())
    }  # fmt: skip
    for number, call in calls.items():
        node = marks.get((CALL, number))
        if node is None:
            raise NotStampable(f"{call.path} is called inside of a region of its own (no_grad)")
        copies[call.region].stamp(node, call, by_fqn)
    _erase_marks(exported)
    _rename_outputs(exported)


class _Region:
    """The nodes of a traced block between its marks, ready to be copied."""

    def __init__(
        self, number: int, path: str, marks: Mapping[tuple[object, int], fx.Node],
        fqns: Mapping[str, str], lifted: set[str],
    ) -> None:  # fmt: skip
        begin, end = marks.get((BEGIN, number)), marks.get((END, number))
        if begin is None or end is None:
            raise NotStampable(f"{path} is called inside of a region of its own (no_grad)")
        self.begin, self.end = begin, end
        self.nodes: list[fx.Node] = []
        node = begin.next
        while node is not end:
            if node.target is not _CHECK:  # what the copies would check is known to hold
                self.nodes.append(node)
            node = node.next
        self.own: dict[fx.Node, str] = {}
        self.shared: set[fx.Node] = set()
        known = {*self.nodes, *cast(list[fx.Node], begin.args[0])}
        for node in self.nodes:
            for operand in node.all_input_nodes:
                if operand in known:
                    continue
                fqn = fqns.get(operand.name, "") if operand.op == "placeholder" else ""
                if fqn.startswith(f"module.{path}."):
                    self.own[operand] = fqn.removeprefix(f"module.{path}.")
                elif operand.op == "placeholder" and operand.name in lifted:
                    self.shared.add(operand)
                else:
                    raise NotStampable(f"{path} reads {fqn or operand.name}, which is not its own")
        self.stacks = [_stack_key(node) for node in self.nodes]

    def stamp(self, call: fx.Node, where: StampedCall, by_fqn: Mapping[str, fx.Node]) -> None:
        """Copy the region before `call` and let its results take the place of the call's."""
        values: dict[fx.Node, fx.Node] = {node: node for node in self.shared}
        for node, name in self.own.items():
            values[node] = by_fqn[f"module.{where.path}.{name}"]
        # Read anew each time: an earlier copy may have taken an input's place.
        inputs, outputs = (cast(list[fx.Node], m.args[0]) for m in (self.begin, self.end))
        for theirs, ours in zip(inputs, cast(list[fx.Node], call.args[0]), strict=True):
            if values.setdefault(theirs, ours) is not ours:
                raise NotStampable(f"two inputs of {where.traced} are one, those of {where.path} "
                                   "are not")  # fmt: skip
        stacks: dict[object, dict[str, Any]] = {}
        with call.graph.inserting_before(call):
            for node, key in zip(self.nodes, self.stacks, strict=True):
                made = _copy(call.graph, node, values)
                if key is not None:
                    if key not in stacks:
                        stacks[key] = _moved(node.meta["nn_module_stack"], where)
                    made.meta["nn_module_stack"] = stacks[key]
                values[node] = made
        for user in list(call.users):
            if user.target is not operator.getitem:
                raise NotStampable(f"the results of {where.path} are used as a list")
            user.replace_all_uses_with(values[outputs[cast(int, user.args[1])]])
            call.graph.erase_node(user)


def _copy(graph: fx.Graph, node: fx.Node, values: Mapping[fx.Node, fx.Node]) -> fx.Node:
    """As `graph.node_copy`, without its search of the arguments for symbolic numbers."""
    made = graph.create_node(node.op, node.target, name=node.name)
    made.args = cast(tuple[Any, ...], fx.node.map_arg(node.args, values.__getitem__))
    if node.kwargs:
        made.kwargs = cast(dict[str, Any], fx.node.map_arg(node.kwargs, values.__getitem__))
    made.meta = dict(node.meta)
    return made


def _stack_key(node: fx.Node) -> object:
    stack = node.meta.get("nn_module_stack")
    return tuple(stack.items()) if stack else None


def _moved(stack: Mapping[str, tuple[str, Any]], where: StampedCall) -> dict[str, Any]:
    """A stack of modules as the block at another path has it."""
    old, new = f"module.{where.traced}", f"module.{where.path}"
    moved: dict[str, Any] = {}
    for key, (path, cls) in stack.items():
        if path == old or path.startswith(f"{old}."):
            path, key = new + path[len(old) :], key.replace(old, new, 1)
        moved[key] = (path, cls)
    return moved


def _erase_marks(exported: ExportedProgram) -> None:
    for module in exported.graph_module.modules():
        graph = module.graph if isinstance(module, fx.GraphModule) else fx.Graph()
        for node in list(graph.nodes):
            if node.op == "call_function" and node.target in _MARKS:
                if node.users:
                    raise NotStampable("a block is called inside of a region of its own (no_grad)")
                graph.erase_node(node)


def _rename_outputs(exported: ExportedProgram) -> None:
    """Let the signature name the nodes that the program returns now."""
    values = cast(tuple[object, ...], exported.graph.output_node().args[0])
    for spec, value in zip(exported.graph_signature.output_specs, values, strict=True):
        if isinstance(spec.arg, TensorArgument) and isinstance(value, fx.Node):
            spec.arg = TensorArgument(name=value.name)
