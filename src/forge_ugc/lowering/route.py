"""Routing: which device of a target runs an instruction."""

from __future__ import annotations

from collections.abc import Mapping

from forge_ugc.backends.base import Backend, No
from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.npuir.instruction import Device, Instruction, Ref
from forge_ugc.npuir.types import TensorType


def route(instruction: Instruction, backend: Backend, types: Mapping[Ref, TensorType]) -> Device:
    """The first device of the target, in its order of preference, that runs the instruction.

    Args:
        instruction: no view.
        backend: of the target.
        types: the type of everything that the instruction reads.

    Raises:
        UnsupportedOperatorError: none does; lists every device's reason.
    """
    reasons, fix = [], ""
    for device in backend.devices:
        answer = backend.supports(instruction, device, types)
        if not isinstance(answer, No):
            return device
        reasons.append(f"{device}: {answer.reason}")
        fix = fix or answer.fix
    raise UnsupportedOperatorError(
        f"target {backend.name!r} cannot run {instruction.opcode}",
        where=str(instruction.location or ""),
        why="; ".join(reasons),
        fix=fix or "write the model with another operator, or register a cpu kernel for this one",
    )
