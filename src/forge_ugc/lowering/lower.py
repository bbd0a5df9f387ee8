"""Lowering: one instruction a node, typed registers, views resolved to memory, devices chosen."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

import torch
from torch import fx
from torch._ops import OpOverload

from forge_ugc.backends.base import Backend
from forge_ugc.capture import CapturedGraph
from forge_ugc.errors import InternalError, UnsupportedOperatorError, VerificationError
from forge_ugc.lowering.constants import ConstantTable, build_table, unique_names
from forge_ugc.lowering.route import route
from forge_ugc.npuir.instruction import (
    Attribute,
    Const,
    Instruction,
    Operand,
    Ref,
    Reg,
    Result,
    SourceLocation,
    State,
    ViewOf,
)
from forge_ugc.npuir.program import InputDecl, Program, StateDecl, Store
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.infer import infer_views
from forge_ugc.ops.core.schema import bind, is_view, opcode_of
from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.passes.graph import is_state, location, node_type

_CLONE = torch.ops.aten.clone.default


@dataclass(frozen=True, slots=True)
class Lowered:
    """The program, with the tensors of constants that own memory and of initial states."""

    program: Program
    tensors: dict[str, torch.Tensor]


def lower(captured: CapturedGraph, backend: Backend, name: str) -> Lowered:
    """Lower an optimised graph for a target. Linear in the number of nodes.

    Raises:
        UnsupportedOperatorError: no device of the target runs an operator; names the source line.
    """
    return _Lowering(captured, backend, name).run()


class _Lowering:
    def __init__(self, captured: CapturedGraph, backend: Backend, name: str) -> None:
        self.captured, self.backend, self.name = captured, backend, name
        self.module = captured.graph_module
        self.types: dict[Ref, TensorType] = {}
        self.root: dict[Ref, Ref] = {}
        self.value: dict[fx.Node, Ref | tuple[Ref, ...]] = {}
        self.instructions: list[Instruction] = []
        self.views: dict[object, tuple[tuple[TensorType, int], ...]] = {}
        self.places: dict[object, SourceLocation] = {}
        self.next_reg = 0
        self.owned: set[int] = set()
        self.fresh: set[Ref] = set()

    def run(self) -> Lowered:
        inputs = self.declare_inputs()
        table, states, tensors = self.declare_constants()
        for node in self.module.graph.nodes:
            if node.op == "call_function":
                self.lower_call(node)
        outputs, stores = self.finish()
        program = Program(
            name=self.name, target=self.backend.name, inputs=tuple(inputs),
            constants=table.declarations, states=tuple(states),
            instructions=tuple(self.instructions), stores=stores, outputs=outputs,
        )  # fmt: skip
        return Lowered(program, tensors)

    def new_reg(self, kind: TensorType) -> Reg:
        reg = Reg(self.next_reg)
        self.next_reg += 1
        self.types[reg] = kind
        self.root[reg] = reg
        return reg

    def declare_inputs(self) -> list[InputDecl]:
        declared = []
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                kind = cast(TensorType, node_type(node))
                reg = self.new_reg(kind)
                self.value[node] = reg
                declared.append(InputDecl(reg, str(node.meta.get("path", node.name)), kind))
        return declared

    def declare_constants(self) -> tuple[ConstantTable, list[StateDecl], dict[str, torch.Tensor]]:
        named: list[tuple[str, torch.Tensor]] = []
        states: list[StateDecl] = []
        tensors: dict[str, torch.Tensor] = {}
        reads = [n for n in self.module.graph.nodes if n.op == "get_attr"]
        for node in reads:
            tensor = getattr(self.module, str(node.target))
            name = str(node.meta.get("fqn", node.target))
            if is_state(node):
                self.value[node] = self.root[State(name)] = State(name)
                if name not in tensors:
                    states.append(StateDecl(name, type_of(tensor)))
                    tensors[name] = tensor
                self.types[State(name)] = type_of(tensor)
            else:
                named.append((name, tensor))
                if node.meta.get("module_owned"):
                    self.owned.add(tensor.untyped_storage()._cdata)
        table = build_table(unique_names(named))
        for node in reads:
            if not is_state(node):
                tensor = getattr(self.module, str(node.target))
                const = Const(table.name_of[id(tensor)])
                self.value[node] = const
                self.types[const], self.root[const] = type_of(tensor), const
                if tensor.untyped_storage()._cdata not in self.owned:
                    self.fresh.add(const)
        return table, states, {**table.tensors, **tensors}

    def lower_call(self, node: fx.Node) -> None:
        if node.target is operator.getitem:
            source = self.value[cast(fx.Node, node.args[0])]
            self.value[node] = cast(tuple[Ref, ...], source)[cast(int, node.args[1])]
            return
        target = node.target
        if not isinstance(target, OpOverload):
            raise UnsupportedOperatorError(
                f"{target} is not a PyTorch operator", where=str(location(node))
            )
        operands, attributes = bind(target, node.args, node.kwargs, self.operand)
        opcode = opcode_of(target)
        if is_view(target) and isinstance(operands[0], Reg | Const | State):
            self.value[node] = self.lower_view(node, opcode, operands, attributes)
            return
        kinds = node_type(node) if target._schema.returns else ()
        if kinds is None or (isinstance(kinds, tuple) and None in kinds):
            raise InternalError(f"{node.name} ({target}) has no type", where=str(location(node)))
        several = kinds if isinstance(kinds, tuple) else (kinds,)
        results = tuple(Result(self.new_reg(k), k) for k in (_own_memory(k) for k in several))
        self.append(node, results, opcode, operands, attributes)
        refs = tuple(r.reg for r in results)
        self.value[node] = refs if isinstance(kinds, tuple) else refs[0]

    def operand(self, value: object) -> Operand:
        if isinstance(value, fx.Node):
            return cast(Ref, self.value[value])
        if isinstance(value, list | tuple):
            return tuple(cast(Any, None if v is None else self.operand(v)) for v in value)
        return cast(Operand, value)

    def lower_view(
        self, node: fx.Node, opcode: str, operands: tuple[Operand, ...],
        attributes: Mapping[str, Attribute],
    ) -> Ref | tuple[Ref, ...]:  # fmt: skip
        base = cast(Ref, operands[0])
        try:
            described = self.describe_view(opcode, operands, attributes)
        except VerificationError:
            # The base's strides do not allow this view any more: view a row-major copy of it.
            base = self.copy(node, base)
            operands = (base, *operands[1:])
            described = self.describe_view(opcode, operands, attributes)
        results = []
        for kind, offset in described:
            reg = self.new_reg(kind)
            self.root[reg] = self.root[base]
            results.append(Result(reg, kind, ViewOf(base, offset * kind.dtype.size_bytes)))
        self.append(node, tuple(results), opcode, operands, attributes)
        refs = tuple(r.reg for r in results)
        return refs if isinstance(node_type(node), tuple) else refs[0]

    def describe_view(
        self, opcode: str, operands: tuple[Operand, ...], attributes: Mapping[str, Attribute]
    ) -> tuple[tuple[TensorType, int], ...]:
        kinds = tuple(self.types[o] if isinstance(o, Reg | Const | State) else o for o in operands)
        key = (opcode, kinds, tuple(attributes.items()))
        if key not in self.views:
            self.views[key] = infer_views(opcode, kinds, attributes)
        return self.views[key]

    def copy(self, node: fx.Node, ref: Ref) -> Reg:
        kind = self.types[ref].contiguous()
        result = Result(self.new_reg(kind), kind)
        operands, attributes = bind(
            _CLONE, (ref,), {"memory_format": torch.contiguous_format}, lambda v: cast(Operand, v)
        )
        self.append(node, (result,), opcode_of(_CLONE), operands, attributes)
        return result.reg

    def append(
        self, node: fx.Node, results: tuple[Result, ...], opcode: str,
        operands: tuple[Operand, ...], attributes: Mapping[str, Attribute],
    ) -> None:  # fmt: skip
        instruction = Instruction(
            results=results, opcode=opcode, operands=operands,
            attributes=MappingProxyType(dict(attributes)), location=self.place(node),
        )  # fmt: skip
        if not instruction.is_view:
            device = route(instruction, self.backend, self.types)
            instruction = Instruction(
                results, opcode, operands, instruction.attributes, device, instruction.location
            )
        self.instructions.append(instruction)

    def place(self, node: fx.Node) -> SourceLocation:
        key = (node.meta.get("stack_trace"), id(node.meta.get("nn_module_stack")))
        if key not in self.places:
            self.places[key] = location(node)
        return self.places[key]

    def finish(self) -> tuple[tuple[Ref, ...], tuple[Store, ...]]:
        """Outputs and stores; a value on memory that a store overwrites is copied first."""
        output = self.module.graph.output_node()
        values = [self.value[cast(fx.Node, v)] for v in cast(Any, output.args[0])]
        stores = self.captured.stores
        split = len(values) - len(stores)
        user, stored = cast(list[Ref], values[:split]), cast(list[Ref], values[split:])
        placeholders = {
            n.name: self.value[n] for n in self.module.graph.nodes if n.op == "placeholder"
        }
        states = {str(n.target): self.value[n] for n in self.module.graph.nodes if is_state(n)}
        targets = [
            cast("Reg | State", (placeholders if t.kind == "input" else states)[t.name])
            for t in stores
        ]
        overwritten: set[Ref] = set(targets)
        finished: list[Store] = []
        for target, value in zip(targets, stored, strict=True):
            if value == target:
                continue
            if self.root[value] in overwritten:
                value = self.copy(output, value)
            finished.append(Store(target, value))
        written_back = {s.value: s.target for s in finished if isinstance(s.target, Reg)}
        outputs: list[Ref] = []
        for value in user:
            if value in written_back:
                outputs.append(written_back[value])
            elif self.root[value] in overwritten or self.root[value] in self.fresh:
                # Eager returns new memory here: the caller may write to it.
                outputs.append(self.copy(output, value))
            else:
                outputs.append(value)
        return tuple(outputs), tuple(finished)


def _own_memory(kind: TensorType) -> TensorType:
    return kind if kind.is_dense else kind.contiguous()
