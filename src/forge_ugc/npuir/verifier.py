"""Checks that a program obeys the rules of NPUIR; they are listed in docs/npuir.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NoReturn

from forge_ugc.errors import ForgeError, VerificationError
from forge_ugc.npuir import lexical
from forge_ugc.npuir.instruction import (
    Attribute,
    Const,
    Instruction,
    Operand,
    Ref,
    Reg,
    Result,
    State,
    ViewOf,
)
from forge_ugc.npuir.printer import (
    print_const,
    print_input,
    print_instruction,
    print_ref,
    print_state,
    print_store,
)
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.slot_verifier import SlotVerifier
from forge_ugc.npuir.types import TensorType

TypedOperand = TensorType | bool | int | float | None | tuple["TypedOperand", ...]
TypeRule = Callable[[str, Sequence[TypedOperand], Mapping[str, Attribute]], tuple[TensorType, ...]]


def verify(program: Program, type_rule: TypeRule | None = None) -> None:
    """Check definitions, views, memory and, with a type rule, types. O(N log N).

    Args:
        program: any program.
        type_rule: (opcode, operand types, attributes) -> result types; what it raises as a
            `ForgeError` is passed on with the instruction as its place.

    Raises:
        VerificationError: the first rule broken, with the line that breaks it.
    """
    _Verifier(program, type_rule).run()


class _Verifier:
    """Walks over the program once; every value that was defined is in `_types` and `_roots`."""

    def __init__(self, program: Program, type_rule: TypeRule | None) -> None:
        self._program = program
        self._rule = type_rule
        self._rule_results: dict[object, tuple[TensorType, ...]] = {}
        self._types: dict[Ref, TensorType] = {}
        self._roots: dict[Ref, ViewOf] = {}
        self._later: set[Ref] = {r.reg for r in program.results()}
        self._later.update(Const(c.name) for c in program.constants)
        self._where = partial("npuir.program @{}".format, lexical.name(program.name))

    def run(self) -> None:
        self._declarations()
        for index, instruction in enumerate(self._program.instructions):
            self._where = partial(instruction_place, index, instruction)
            self._instruction(instruction)
        self._stores()
        for output in self._program.outputs:
            self._where = partial("output {}".format, print_ref(output))
            self._require_defined(output)
        SlotVerifier(self._program, self._types, self._roots).run()

    # ------------------------------------------------------------------ declarations

    def _declarations(self) -> None:
        program = self._program
        if program.arena_bytes is not None and program.arena_bytes < 0:
            self._fail(f"the arena has {program.arena_bytes} bytes")
        names: set[str] = set()
        for entry in program.inputs:
            self._where = partial(print_input, entry)
            self._define(entry.reg, entry.type, None)
            if entry.name in names:
                self._fail(f"two inputs are called {lexical.quote(entry.name)}")
            names.add(entry.name)
        for const in program.constants:
            self._where = partial(print_const, const)
            if const.view is not None and not isinstance(const.view.base, Const):
                base = print_ref(const.view.base)
                self._fail(f"a constant is a view of {base}, which is no constant")
            self._define(Const(const.name), const.type, const.view)
        for state in program.states:
            self._where = partial(print_state, state)
            self._define(State(state.name), state.type, None)

    def _define(self, ref: Ref, kind: TensorType, view: ViewOf | None) -> None:
        if ref in self._types:
            self._fail(f"{print_ref(ref)} is defined twice")
        if kind.numel * kind.dtype.size_bytes > lexical.INT64_MAX or (
            kind.size_bytes > lexical.INT64_MAX
        ):
            self._fail(f"{print_ref(ref)} is larger than 2^63 bytes")
        root = ViewOf(ref, 0) if view is None else self._view_root(ref, kind, view)
        self._types[ref], self._roots[ref] = kind, root
        self._later.discard(ref)

    def _view_root(self, ref: Ref, kind: TensorType, view: ViewOf) -> ViewOf:
        self._require_defined(view.base)
        base = self._roots[view.base]
        root, start = base.base, base.offset_bytes + view.offset_bytes
        if kind.size_bytes == 0:  # touches no memory, wherever it lies
            return ViewOf(root, start)
        end, limit = start + kind.size_bytes, self._types[root].size_bytes
        if start < 0 or end > limit:
            self._fail(
                f"the view {print_ref(ref)} leaves the memory of {print_ref(root)}",
                f"it covers bytes {start} to {end} of {limit}",
            )
        if start % kind.dtype.size_bytes:
            self._fail(
                f"the view {print_ref(ref)} is not aligned to its elements",
                f"it starts at byte {start} of {print_ref(root)}, its elements have "
                f"{kind.dtype.size_bytes} bytes",
            )
        return ViewOf(root, start)

    # ------------------------------------------------------------------ instructions

    def _instruction(self, instruction: Instruction) -> None:
        for ref in instruction.refs():
            self._require_defined(ref)
        if self._rule is not None:
            self._check_types(instruction, self._rule)
        # Results of one instruction come to life together: none may be a view of another.
        bases = [r.view.base for r in instruction.results if r.view is not None]
        for base in bases:
            self._require_defined(base)
        for result in instruction.results:
            self._define(result.reg, result.type, result.view)
            if result.view is not None and result.place is not None:
                self._fail(
                    f"{result.reg} is a view and has a place of its own",
                    f"its memory is that of {print_ref(result.view.base)}",
                )

    def _check_types(self, instruction: Instruction, rule: TypeRule) -> None:
        want = self._inferred(instruction, rule)
        have = instruction.results
        if len(want) != len(have):
            self._fail(f"{instruction.opcode} has {len(want)} results, the instruction {len(have)}")
        for result, kind in zip(have, want, strict=True):
            if not _agrees(result, kind):
                self._fail(
                    f"{result.reg} is declared as {result.type}",
                    f"the type rule of {instruction.opcode} gives {kind}",
                )

    def _inferred(self, instruction: Instruction, rule: TypeRule) -> tuple[TensorType, ...]:
        operands = tuple(self._typed(operand) for operand in instruction.operands)
        attributes = tuple(sorted(instruction.attributes.items()))
        # 1, 1.0 and True are equal as keys but not to a type rule; their repr differs.
        key = (instruction.opcode, tuple(map(_key, operands)), repr(attributes))
        found = self._rule_results.get(key)
        if found is None:
            try:
                found = rule(instruction.opcode, operands, instruction.attributes)
            except ForgeError as error:
                where = f"{self._where()}\n  at: {error.where}" if error.where else self._where()
                raise type(error)(error.what, where=where, why=error.why, fix=error.fix) from error
            self._rule_results[key] = found
        return found

    def _typed(self, operand: Operand) -> TypedOperand:
        if isinstance(operand, tuple):
            return tuple(self._typed(item) for item in operand)
        if isinstance(operand, Reg | Const | State):
            return self._types[operand]
        return operand

    # ------------------------------------------------------------------ ends

    def _stores(self) -> None:
        targets: set[Ref] = {i.reg for i in self._program.inputs}
        targets.update(State(s.name) for s in self._program.states)
        stored: set[Ref] = set()
        for store in self._program.stores:
            self._where = partial(print_store, store)
            self._require_defined(store.target)
            self._require_defined(store.value)
            target = print_ref(store.target)
            if store.target not in targets:
                self._fail(f"{target} is stored to, but is neither an input nor a state")
            if store.target in stored:
                self._fail(f"{target} is stored to twice")
            stored.add(store.target)
            have, want = self._types[store.value], self._types[store.target]
            if (have.dtype, have.shape) != (want.dtype, want.shape):
                self._fail(f"{target} is {want}, the value stored to it is {have}")

    def _require_defined(self, ref: Ref) -> None:
        if ref in self._types:
            return
        if ref in self._later:
            self._fail(f"{print_ref(ref)} is used before it is defined")
        self._fail(f"{print_ref(ref)} is not defined")

    def _fail(self, what: str, why: str = "") -> NoReturn:
        raise VerificationError(what, where=self._where(), why=why)


def instruction_place(index: int, instruction: Instruction) -> str:
    """How an error names an instruction: its number from 0, and its line."""
    return f"instruction {index}: {print_instruction(instruction, locations=False)}"


def _key(operand: TypedOperand) -> object:
    if isinstance(operand, TensorType):
        return operand
    if isinstance(operand, tuple):
        return tuple(map(_key, operand))
    return repr(operand)


def _agrees(result: Result, kind: TensorType) -> bool:
    if result.view is not None:
        return result.type == kind
    return (result.type.dtype, result.type.shape) == (kind.dtype, kind.shape)
