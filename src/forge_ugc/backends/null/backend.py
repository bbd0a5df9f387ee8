"""The `null` target: routes and schedules for an accelerator, and runs everything on the host."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from forge_ugc.backends.base import Availability, Backend, Executable, No, Yes, register
from forge_ugc.backends.host import HostExecutable
from forge_ugc.backends.host_steps import has_cpu_kernel
from forge_ugc.npuir.instruction import Device, Instruction, Ref
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType
from forge_ugc.options import Options

_MATRIX = frozenset(
    {"aten.linear", "aten.matmul", "aten.mm", "aten.bmm", "aten.addmm", "aten.baddbmm"}
)


@register("null", devices=("accelerator", "cpu"))
class NullBackend(Backend):
    """Shows routing and device-affinity scheduling without hardware.

    The accelerator takes what the published system sends to its NPU: linear, fused, matmul and
    addmm kinds; the rest goes to the cpu.
    """

    def probe(self) -> Availability:
        return Availability(
            available=True, reason="no hardware: the accelerator's share runs on the host"
        )

    def supports(
        self, instruction: Instruction, device: Device, types: Mapping[Ref, TensorType]
    ) -> Yes | No:
        opcode = instruction.opcode
        if device == "cpu":
            return Yes() if has_cpu_kernel(opcode) else No(f"{opcode} has no kernel for the cpu")
        if "." not in opcode or opcode.rsplit(".", 1)[0] in _MATRIX:
            return Yes()
        return No(f"{opcode} is neither a matrix product nor a fused operator")

    def compile(
        self, program: Program, tensors: dict[str, torch.Tensor], options: Options
    ) -> Executable:
        return HostExecutable(program, tensors)
