"""Host execution: every instruction as a PyTorch operator on registers that lie in one arena."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import torch
from torch._ops import OpOverload

from forge_ugc.backends.base import Executable
from forge_ugc.errors import InputError, InternalError
from forge_ugc.npuir.instruction import Const, External, Instruction, Ref, Reg, Result, Slot, State
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.core.schema import overload_of, parameters, unbind
from forge_ugc.ops.core.torch_types import empty, to_torch, type_of

_COMPOSITE = ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd",
              "CompositeExplicitAutogradNonFunctional")  # fmt: skip


@lru_cache(maxsize=4096)
def has_cpu_kernel(opcode: str) -> bool:
    """True if PyTorch can run the operator on cpu tensors."""
    load_all()
    name = overload_of(opcode).name()
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in _COMPOSITE)


@lru_cache(maxsize=4096)
def out_variant(overload: OpOverload) -> OpOverload | None:
    """The overload that writes the one result of `overload` into a given tensor, if any."""
    returns = overload._schema.returns
    if len(returns) != 1 or str(returns[0].type) != "Tensor" or overload.namespace != "aten":
        return None
    wanted = [(name, kind) for name, kind, _, _ in parameters(overload)]
    for name in overload.overloadpacket.overloads():
        found = cast(OpOverload, getattr(overload.overloadpacket, name))
        if not name.endswith("out"):
            continue
        given = [(n, k) for n, k, _, _ in parameters(found) if n != "out"]
        has_out = any(n == "out" and k == "Tensor" for n, k, _, _ in parameters(found))
        if has_out and given == wanted and len(found._schema.returns) == 1:
            return found
    return None


@dataclass(slots=True)
class Frame:
    """The memory of one call: the arena, and the tensor of every register known beforehand."""

    arena: torch.Tensor
    values: list[torch.Tensor | None]


Step = Callable[[list[torch.Tensor | None]], None]


class HostExecutable(Executable):
    """Runs a program through PyTorch. One call uses one frame; frames are reused, never shared."""

    def __init__(self, program: Program, tensors: Mapping[str, torch.Tensor]) -> None:
        if program.arena_bytes is None:
            raise InternalError("the program has no arena yet: allocate() comes before compile()")
        self._program = program
        self._types = program.types()
        self._roots = program.roots()
        self._fixed = self._bind_fixed(tensors)
        size = max((ref.id for ref in self._types if isinstance(ref, Reg)), default=-1) + 1
        self._size = size
        self._by_reg = {r.reg: r for r in program.results()}
        self._dynamic = {i.reg for i in program.inputs}
        self._dynamic |= {r.reg for r in program.results() if isinstance(r.place, External)}
        self._steps = [s for i in program.instructions for s in self._compile(i)]
        self._frames: deque[Frame] = deque()
        self._lock = threading.Lock() if program.states else None
        self._written = [i for i, d in enumerate(program.inputs)
                         if any(s.target == d.reg for s in program.stores)]  # fmt: skip
        self._volatile = [r.id for r in self._types if isinstance(r, Reg)
                          and self._roots[r].base in self._dynamic]  # fmt: skip

    def state(self, name: str) -> torch.Tensor:
        """The live tensor of a state."""
        return self._fixed[State(name)]

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        if self._written:
            self._refuse_overlap(inputs)
        if self._lock is None:
            return self._run(inputs)
        with self._lock:
            return self._run(inputs)

    def _run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self._new_frame()
        values = frame.values
        # Whatever mode the caller is in, the program runs as it was compiled.
        with torch.inference_mode(False), torch.no_grad(), torch.autocast("cpu", enabled=False):
            for declared, tensor in zip(self._program.inputs, inputs, strict=True):
                values[declared.reg.id] = _in_layout(tensor, declared.type)
            for step in self._steps:
                step(values)
            outputs = [self._output(values, inputs, ref) for ref in self._program.outputs]
            if self._program.stores:
                outputs = self._store(values, inputs, outputs)
        for reg in self._volatile:
            values[reg] = None
        self._frames.append(frame)
        return outputs

    def _store(
        self,
        values: list[torch.Tensor | None],
        inputs: Sequence[torch.Tensor],
        outputs: list[torch.Tensor],
    ) -> list[torch.Tensor]:
        """Write states and inputs; what is read from one is copied first.

        Only an output that names an input stays that very tensor.
        """
        stores = self._program.stores
        targets = [
            self._fixed[s.target]
            if isinstance(s.target, State)
            else inputs[self._input_position(s.target)]
            for s in stores
        ]
        written = {t.untyped_storage()._cdata for t in targets}

        def taken(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.clone() if tensor.untyped_storage()._cdata in written else tensor

        outputs = [
            tensor if self._is_input(ref) else taken(tensor)
            for ref, tensor in zip(self._program.outputs, outputs, strict=True)
        ]
        stored = [taken(self._read(values, s.value)) for s in stores]
        for target, value in zip(targets, stored, strict=True):
            with torch.inference_mode(target.is_inference()):
                target.copy_(value)
        return outputs

    def _output(
        self, values: list[torch.Tensor | None], inputs: Sequence[torch.Tensor], ref: Ref
    ) -> torch.Tensor:
        if self._is_input(ref):
            return inputs[self._input_position(cast(Reg, ref))]
        return self._read(values, ref)

    def _is_input(self, ref: Ref) -> bool:
        return isinstance(ref, Reg) and ref not in self._by_reg

    def _input_position(self, reg: Reg) -> int:
        return next(i for i, d in enumerate(self._program.inputs) if d.reg == reg)

    def _read(self, values: list[torch.Tensor | None], ref: Ref) -> torch.Tensor:
        if isinstance(ref, Reg):
            return cast(torch.Tensor, values[ref.id])
        return self._fixed[ref]

    def _bind_fixed(self, tensors: Mapping[str, torch.Tensor]) -> dict[Ref, torch.Tensor]:
        fixed: dict[Ref, torch.Tensor] = {}
        for const in self._program.constants:
            if const.view is None:
                fixed[Const(const.name)] = tensors[const.name]
            else:
                root = self._roots[Const(const.name)]
                fixed[Const(const.name)] = view_of(fixed[root.base], root.offset_bytes, const.type)
        for state in self._program.states:
            fixed[State(state.name)] = tensors[state.name]
        return fixed

    @torch.inference_mode(False)
    def _new_frame(self) -> Frame:
        arena = torch.empty(self._program.arena_bytes or 0, dtype=torch.uint8)
        values: list[torch.Tensor | None] = [None] * self._size
        for result in self._program.results():
            if isinstance(result.place, Slot):
                values[result.reg.id] = view_of(arena, result.place.offset_bytes, result.type)
            elif result.view is not None:
                root = self._roots[result.reg]
                if root.base not in self._dynamic:
                    base = self._read(values, root.base)
                    values[result.reg.id] = view_of(base, root.offset_bytes, result.type)
        return Frame(arena, values)

    def _compile(self, instruction: Instruction) -> list[Step]:
        if instruction.is_view:
            return [
                self._view_step(r)
                for r in instruction.results
                if self._roots[r.reg].base in self._dynamic
            ]
        overload = overload_of(instruction.opcode)
        args, kwargs = unbind(overload, instruction.operands, instruction.attributes)
        into = out_variant(overload) if len(instruction.results) == 1 else None
        fetch, fetch_named = self._fetcher(args), self._fetcher(kwargs)
        results = instruction.results
        if into is not None:
            return [_out_step(into, fetch, fetch_named, results[0])]
        return [_copy_step(overload, fetch, fetch_named, results)]

    def _view_step(self, result: Result) -> Step:
        root = self._roots[result.reg]
        base, offset, reg, kind = (
            cast(Reg, root.base).id,
            root.offset_bytes,
            result.reg.id,
            result.type,
        )

        def run(values: list[torch.Tensor | None]) -> None:
            values[reg] = view_of(cast(torch.Tensor, values[base]), offset, kind)

        return run

    def _fetcher(self, template: Any) -> Callable[[list[torch.Tensor | None]], Any]:  # noqa: ANN401 - call arguments
        """A function that fills registers into a call's arguments."""
        if isinstance(template, Reg):
            number = template.id
            return lambda values: values[number]
        if isinstance(template, Const | State):
            tensor = self._fixed[template]
            return lambda values: tensor
        if isinstance(template, list):
            parts = [self._fetcher(item) for item in template]
            return lambda values: [part(values) for part in parts]
        if isinstance(template, dict):
            named = {key: self._fetcher(item) for key, item in template.items()}
            return lambda values: {key: part(values) for key, part in named.items()}
        return lambda values: template

    def _refuse_overlap(self, inputs: Sequence[torch.Tensor]) -> None:
        fixed = {t.untyped_storage()._cdata for t in self._fixed.values()}
        for i in self._written:
            name = self._program.inputs[i].name
            if inputs[i].untyped_storage()._cdata in fixed:
                raise InputError(
                    f"input {name!r} shares memory with a constant of the program, which writes it",
                    fix="pass a copy",
                )
            for j, other in enumerate(inputs):
                if i != j and _overlap(inputs[i], other):
                    raise InputError(
                        f"inputs {name!r} and {self._program.inputs[j].name!r} share memory (they "
                        f"alias), and the program writes to {name!r} in place",
                        fix="pass copies, or compile a model that does not write to its inputs",
                    )


def _out_step(
    overload: OpOverload, fetch: Callable[..., Any], named: Callable[..., Any], result: Result
) -> Step:
    reg, kind, fresh = result.reg.id, result.type, isinstance(result.place, External)

    def run(values: list[torch.Tensor | None]) -> None:
        if fresh:
            values[reg] = empty(kind)
        overload(*fetch(values), **named(values), out=values[reg])

    return run


def _copy_step(
    overload: OpOverload,
    fetch: Callable[..., Any],
    named: Callable[..., Any],
    results: tuple[Result, ...],
) -> Step:
    def run(values: list[torch.Tensor | None]) -> None:
        got = overload(*fetch(values), **named(values))
        several = [t for t in (got if isinstance(got, tuple | list) else (got,)) if t is not None]
        for result, tensor in zip(results, several, strict=True):
            if isinstance(result.place, External):
                values[result.reg.id] = empty(result.type)
            cast(torch.Tensor, values[result.reg.id]).copy_(tensor)

    return run


def view_of(base: torch.Tensor, offset_bytes: int, kind: TensorType) -> torch.Tensor:
    """A tensor of type `kind` on base's memory, `offset_bytes` after base's first element."""
    dtype = to_torch(kind.dtype)
    size = kind.dtype.size_bytes
    start = base.storage_offset() * base.element_size() + offset_bytes
    if dtype == base.dtype:
        return base.as_strided(kind.shape, kind.strides, start // size)
    view = torch.empty(0, dtype=dtype)
    return view.set_(base.untyped_storage(), start // size, kind.shape, kind.strides)


def _in_layout(tensor: torch.Tensor, kind: TensorType) -> torch.Tensor:
    tensor = tensor.detach()
    if type_of(tensor) == kind and not tensor.is_conj() and not tensor.is_neg():
        return tensor
    return empty(kind).copy_(tensor)


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.numel() == 0 or b.numel() == 0:
        return False
    if a.untyped_storage()._cdata != b.untyped_storage()._cdata:
        return False
    start_a, start_b = a.data_ptr(), b.data_ptr()
    return start_a < start_b + type_of(b).size_bytes and start_b < start_a + type_of(a).size_bytes
