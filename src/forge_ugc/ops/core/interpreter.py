"""The reference interpreter: runs any program on plain tensors, one operator after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from forge_ugc.errors import InputError, VerificationError
from forge_ugc.npuir.instruction import Const, Instruction, Operand, Ref, Reg, Result, State, ViewOf
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.schema import overload_of, unbind
from forge_ugc.ops.core.torch_types import empty, to_torch, type_of

Values = dict[Ref, torch.Tensor]


def interpret(
    program: Program, tensors: Mapping[str, torch.Tensor], inputs: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Run a program and return its outputs; the golden model that executors are compared with.

    Devices and places are ignored: every result is a tensor of its own, in the layout that its type
    declares; views are made by their own operators. The meaning of stores: instructions see a
    state or an input as it was at the start of the call; after the last instruction all values to
    store and all outputs are taken (copied first if they share memory with a target), and only
    then are the targets written. An executor has to take the same snapshots: `store $a, %view_of_b`
    with `store $b, %x` beside it must store the old b, and an output that is a view of a target
    shows the target's old value. An output that names an input is the caller's own tensor, and so
    shows what was stored into it.

    Args:
        program: allocated or not.
        tensors: constants and states by name; constants that are views of others may be left out.
            States are updated in place.
        inputs: one tensor for each input of the program; those with a store are updated in place.

    Raises:
        InputError: the inputs differ from the declared ones in number, dtype or shape.
        VerificationError: a constant is missing, or a result has another type or another place in
            its base than the instruction declares; names the instruction.
        Exception: whatever an operator raises on bad values (an index out of range), as PyTorch.
    """
    with torch.no_grad():
        values = _declared(program, tensors, inputs)
        targets = {s.target: _target(s.target, program, tensors, inputs) for s in program.stores}
        last = _last_readers(program)
        for index, instruction in enumerate(program.instructions):
            for result, tensor in _evaluate(index, instruction, values):
                values[result.reg] = tensor
            for ref in {*instruction.refs(), *(r.reg for r in instruction.results)}:
                if last.get(ref, index) == index and isinstance(ref, Reg):
                    del values[ref]
        written = {t.untyped_storage().data_ptr() for t in targets.values()}

        def taken(ref: Ref) -> torch.Tensor:
            value = values[ref]
            shared = value.untyped_storage().data_ptr() in written
            return value.clone() if shared else value

        given = {i.reg: tensor for i, tensor in zip(program.inputs, inputs, strict=True)}
        outputs = [given[ref] if ref in given else taken(ref) for ref in program.outputs]
        stored = [(targets[s.target], taken(s.value)) for s in program.stores]
        for target, value in stored:
            target.copy_(value)
    return outputs


def _declared(
    program: Program, tensors: Mapping[str, torch.Tensor], inputs: Sequence[torch.Tensor]
) -> Values:
    """Inputs, states and constants, in the layout that their types declare."""
    values: Values = {}
    if len(inputs) != len(program.inputs):
        raise InputError(f"{program.name} takes {len(program.inputs)} inputs, got {len(inputs)}")
    for declared, tensor in zip(program.inputs, inputs, strict=True):
        if tuple(tensor.shape) != declared.type.shape or not _same_dtype(tensor, declared.type):
            raise InputError(
                f"input {declared.name!r} is {type_of(tensor)}, expected {declared.type}",
                where=f"{program.name}: {declared.reg}",
            )
        values[declared.reg] = _laid_out(tensor, declared.type)
    for state in program.states:
        values[State(state.name)] = _named(state.name, state.type, tensors)
    for const in program.constants:
        if const.view is None or const.name in tensors:
            values[Const(const.name)] = _named(const.name, const.type, tensors)
        else:
            values[Const(const.name)] = _viewed(values[const.view.base], const.view, const.type)
    return values


def _named(name: str, kind: TensorType, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    found = tensors.get(name)
    if found is None:
        raise VerificationError(f"no tensor is given for {name!r}", why=f"declared as {kind}")
    if tuple(found.shape) != kind.shape or not _same_dtype(found, kind):
        raise VerificationError(f"{name!r} is {type_of(found)}, declared as {kind}")
    return _laid_out(found, kind)


def _viewed(base: torch.Tensor, view: ViewOf, kind: TensorType) -> torch.Tensor:
    """The tensor of this type that starts `view.offset_bytes` after the base's first element."""
    start = base.storage_offset() * base.element_size() + view.offset_bytes
    dtype = to_torch(kind.dtype)
    return torch.empty(0, dtype=dtype, device=base.device).set_(
        base.untyped_storage(), start // dtype.itemsize, kind.shape, kind.strides
    )


def _target(
    target: Reg | State,
    program: Program,
    tensors: Mapping[str, torch.Tensor],
    inputs: Sequence[torch.Tensor],
) -> torch.Tensor:
    """The caller's own tensor, whatever its layout."""
    if isinstance(target, State):
        return tensors[target.name]
    return inputs[[i.reg for i in program.inputs].index(target)]


def _last_readers(program: Program) -> dict[Ref, int]:
    last: dict[Ref, int] = {}
    for index, instruction in enumerate(program.instructions):
        last.update((ref, index) for ref in instruction.refs())
    never = len(program.instructions)
    last.update((ref, never) for ref in program.outputs)
    last.update((store.value, never) for store in program.stores)
    return last


def _evaluate(
    index: int, instruction: Instruction, values: Values
) -> list[tuple[Result, torch.Tensor]]:
    overload = overload_of(instruction.opcode)
    operands = [_value(operand, values) for operand in instruction.operands]
    args, kwargs = unbind(overload, operands, instruction.attributes)
    out = overload(*args, **kwargs)
    found = [t for t in (out if isinstance(out, tuple | list) else (out,)) if t is not None]
    where = f"instruction {index}: {', '.join(str(r.reg) for r in instruction.results)}"
    where += f" = {instruction.opcode}"
    if len(found) != len(instruction.results):
        raise VerificationError(
            f"{instruction.opcode} returned {len(found)} results, declared are "
            f"{len(instruction.results)}",
            where=where,
        )
    return [
        (result, _checked(result, tensor, values, where))
        for result, tensor in zip(instruction.results, found, strict=True)
    ]


def _value(operand: Operand, values: Values) -> object:
    if isinstance(operand, tuple):
        return [_value(item, values) for item in operand]
    return values[operand] if isinstance(operand, Reg | Const | State) else operand


def _checked(result: Result, tensor: torch.Tensor, values: Values, where: str) -> torch.Tensor:
    kind = result.type
    if tuple(tensor.shape) != kind.shape or not _same_dtype(tensor, kind):
        raise VerificationError(
            f"{result.reg} is {type_of(tensor)}, declared as {kind}", where=where
        )
    if result.view is None:
        return _laid_out(tensor, kind)
    base = values.get(result.view.base)
    if base is not None and kind.numel and base.numel():
        offset = tensor.data_ptr() - base.data_ptr()
        if type_of(tensor) != kind or offset != result.view.offset_bytes:
            raise VerificationError(
                f"{result.reg} is {type_of(tensor)} at byte {offset} of {result.view.base}, "
                f"declared as {kind} at byte {result.view.offset_bytes}",
                where=where,
            )
    return tensor


def _same_dtype(tensor: torch.Tensor, kind: TensorType) -> bool:
    return tensor.dtype == to_torch(kind.dtype)


def _laid_out(tensor: torch.Tensor, kind: TensorType) -> torch.Tensor:
    """The tensor, or a copy of it in the declared layout."""
    if type_of(tensor) == kind:
        return tensor
    return empty(kind, tensor.device.type).copy_(tensor)
