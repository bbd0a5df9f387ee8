"""A simulator that runs an allocated program in real arena memory and spoils what is dead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from forge_ugc.npuir.instruction import (
    Const,
    External,
    Instruction,
    Operand,
    Ref,
    Reg,
    Slot,
    State,
    ViewOf,
)
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.schema import overload_of, unbind
from forge_ugc.ops.core.torch_types import empty, to_torch

POISON = 0xFF  # NaN for every float type, -1 for integers


class Arena:
    """One run of one program."""

    def __init__(
        self, program: Program, tensors: Mapping[str, torch.Tensor], inputs: Sequence[torch.Tensor]
    ) -> None:
        assert program.arena_bytes is not None
        self.program, self.roots = program, program.roots()
        self.memory = torch.full((program.arena_bytes,), POISON, dtype=torch.uint8)
        self.used_out_form = 0
        self.values: dict[Ref, torch.Tensor] = {
            i.reg: t for i, t in zip(program.inputs, inputs, strict=True)
        }
        self.values.update((State(s.name), tensors[s.name]) for s in program.states)
        for const in program.constants:
            self.values[Const(const.name)] = (
                tensors[const.name] if const.view is None else self.viewed(const.view, const.type)
            )
        for result in program.results():
            if result.view is not None:
                value = self.viewed(result.view, result.type)
            elif isinstance(result.place, Slot):
                value = at(self.memory, result.place.offset_bytes, result.type)
            else:
                assert isinstance(result.place, External)
                value = empty(result.type)
            self.values[result.reg] = value

    def viewed(self, view: ViewOf, kind: TensorType) -> torch.Tensor:
        base = self.values[view.base]
        start = base.storage_offset() * base.element_size() + view.offset_bytes
        return at(base, start, kind)

    def run(self) -> list[torch.Tensor]:
        with torch.no_grad():
            dying = self.dying()
            for index, instruction in enumerate(self.program.instructions):
                if not instruction.is_view:
                    self.execute(instruction)
                self.spoil(instruction, dying[index])
            targets = {self.roots[s.target].base for s in self.program.stores}
            given = {i.reg for i in self.program.inputs}
            outputs = [
                self.values[o].clone()
                if self.roots[o].base in targets and o not in given
                else self.values[o]
                for o in self.program.outputs
            ]
            taken = [(s.target, self.values[s.value].clone()) for s in self.program.stores]
            for target, value in taken:
                self.values[target].copy_(value)
        return outputs

    def execute(self, instruction: Instruction) -> None:
        overload = overload_of(instruction.opcode)
        operands = [self.value(o) for o in instruction.operands]
        args, kwargs = unbind(overload, operands, instruction.attributes)
        results = [self.values[r.reg] for r in instruction.results]
        out_form = self.out_form(instruction)
        if out_form is not None:
            self.used_out_form += 1
            out_form(*args, **kwargs, out=results[0])
            return
        got = overload(*args, **kwargs)
        got = [t for t in (got if isinstance(got, tuple | list) else (got,)) if t is not None]
        for place, tensor in zip(results, got, strict=True):
            place.copy_(tensor)

    def out_form(self, instruction: Instruction) -> Any:
        """PyTorch's `out=` form if the instruction works in place, so that it truly does."""
        if "." not in instruction.opcode or len(instruction.results) != 1:
            return None
        address = self.values[instruction.results[0].reg].data_ptr()
        if not any(self.values[r].data_ptr() == address for r in instruction.refs()):
            return None
        return out_form_of(instruction.opcode)

    def value(self, operand: Operand) -> Any:
        if isinstance(operand, tuple):
            return [self.value(o) for o in operand]
        return self.values[operand] if isinstance(operand, Reg | Const | State) else operand

    def dying(self) -> list[list[Ref]]:
        """For each instruction the arena owners that nothing reads after it."""
        last: dict[Ref, int] = {}
        for index, instruction in enumerate(self.program.instructions):
            last.update((r.reg, index) for r in instruction.results if isinstance(r.place, Slot))
            for ref in instruction.refs():
                if self.roots[ref].base in last:
                    last[self.roots[ref].base] = index
        for store in self.program.stores:
            last.pop(self.roots[store.value].base, None)
        dying: list[list[Ref]] = [[] for _ in self.program.instructions]
        for ref, index in last.items():
            dying[index].append(ref)
        return dying

    def spoil(self, instruction: Instruction, dying: Sequence[Ref]) -> None:
        """Fill what died with poison, save the bytes that a new result has taken over."""
        kept = []
        for result in instruction.results:
            if isinstance(result.place, Slot) and result.reg not in dying:
                start = result.place.offset_bytes
                saved = self.memory[start : start + result.place.size_bytes].clone()
                kept.append((start, saved))
        places = {r.reg: r.place for r in self.program.results()}
        for ref in dying:
            place = places[ref]  # type: ignore[index]
            assert isinstance(place, Slot)
            self.memory[place.offset_bytes : place.offset_bytes + place.size_bytes] = POISON
        for start, saved in kept:
            self.memory[start : start + len(saved)] = saved


def at(memory: torch.Tensor, start_bytes: int, kind: TensorType) -> torch.Tensor:
    """A tensor in the storage of another, at a byte of it."""
    dtype = to_torch(kind.dtype)
    return torch.empty(0, dtype=dtype).set_(
        memory.untyped_storage(), start_bytes // dtype.itemsize, kind.shape, kind.strides
    )


def out_form_of(opcode: str) -> Any:
    """The `out=` overload of a PyTorch operator, or None."""
    overload = overload_of(opcode)
    want = [(a.name, str(a.type)) for a in overload._schema.arguments]
    packet = getattr(getattr(torch.ops, overload.namespace), overload._opname)
    for name in packet.overloads():
        schema = getattr(packet, name)._schema
        rest = [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]
        outs = [a.name for a in schema.arguments if a.is_out]
        if outs == ["out"] and rest == want:
            return getattr(packet, name)
    return None


def same_bits(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Equal dtype, shape and bits."""
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    a, b = (t.contiguous().reshape(-1).view(torch.uint8) for t in (one, two))
    return torch.equal(a, b)
