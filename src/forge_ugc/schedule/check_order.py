"""Independent check of a schedule: the same instructions, every result before its readers."""

from __future__ import annotations

from collections import Counter

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.instruction import Instruction, Reg
from forge_ugc.npuir.program import Program
from forge_ugc.ops.core.schema import has_effect, is_mutable, is_random, overload_of, unbind


def check_order(before: Program, after: Program) -> None:
    """Check that a schedule changed nothing but the order, and that legally.

    Raises:
        VerificationError: an instruction is missing, doubled or changed, a result is read before
            it is computed, or random draws, effects or writes changed their order; the message
            names the instruction.
    """
    was = [_identity(i) for i in before.instructions]
    now = [_identity(i) for i in after.instructions]
    missing, added = Counter(was) - Counter(now), Counter(now) - Counter(was)
    if missing or added:
        what = next(iter(missing)) if missing else next(iter(added))
        raise VerificationError(
            f"scheduling {'lost' if missing else 'added'} an instruction", where=what
        )
    for part in ("inputs", "constants", "states", "stores", "outputs"):
        if getattr(before, part) != getattr(after, part):
            raise VerificationError(f"scheduling changed the program's {part}")
    _check_reads(after)
    for kind in (_ordered, _writes):
        sequence = [_identity(i) for i in before.instructions if kind(i)]
        for want, got in zip(
            sequence, [_identity(i) for i in after.instructions if kind(i)], strict=True
        ):
            if want != got:
                raise VerificationError(
                    "random draws or effects changed their order",
                    where=got,
                    why=f"{want} came first",
                )
    if any(_writes(i) for i in before.instructions):
        _check_around_writes(before, after)


def _check_reads(program: Program) -> None:
    known = {i.reg for i in program.inputs}
    for index, instruction in enumerate(program.instructions):
        bases = [r.view.base for r in instruction.results if r.view is not None]
        known_here = known | {r.reg for r in instruction.results}
        for ref in instruction.refs():
            if isinstance(ref, Reg) and ref not in known:
                raise VerificationError(
                    f"{ref} is read before it is computed",
                    where=f"instruction {index}: {_identity(instruction)}",
                )
        for base in bases:
            if isinstance(base, Reg) and base not in known_here:
                raise VerificationError(
                    f"{base} is viewed before it is computed",
                    where=f"instruction {index}: {_identity(instruction)}",
                )
        known.update(r.reg for r in instruction.results)


def _check_around_writes(before: Program, after: Program) -> None:
    """Instructions between two writes to operands stay between them."""
    stretches = []
    for program in (before, after):
        stretch, found = 0, {}
        for instruction in program.instructions:
            stretch += _writes(instruction)
            found[_identity(instruction)] = stretch
        stretches.append(found)
    for name, stretch in stretches[0].items():
        if stretches[1][name] != stretch:
            raise VerificationError(
                "an instruction passed one that writes to an operand", where=name
            )


def _identity(instruction: Instruction) -> str:
    """Everything about an instruction save the places of its results."""
    results = [(str(r.reg), str(r.type), r.view) for r in instruction.results]
    attributes = sorted((k, repr(v)) for k, v in instruction.attributes.items())
    return (
        f"{results} = {instruction.opcode}{instruction.operands} {attributes} {instruction.device}"
    )


def _ordered(instruction: Instruction) -> bool:
    overload = overload_of(instruction.opcode)
    args, kwargs = unbind(overload, instruction.operands, instruction.attributes)
    return has_effect(overload) or is_random(overload, args, kwargs)


def _writes(instruction: Instruction) -> bool:
    return is_mutable(overload_of(instruction.opcode))
