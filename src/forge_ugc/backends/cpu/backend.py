"""The `cpu` target: every instruction runs on the processor, here through PyTorch's operators."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from forge_ugc.backends.base import Availability, Backend, Executable, No, Yes, register
from forge_ugc.backends.host import HostExecutable
from forge_ugc.backends.host_steps import has_cpu_kernel
from forge_ugc.npuir.instruction import Device, Instruction, Ref
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType


@register("cpu", devices=("cpu",))
class CpuBackend(Backend):
    """Runs on any machine."""

    def probe(self) -> Availability:
        return Availability(available=True, reason="runs through PyTorch's operators")

    def supports(
        self, instruction: Instruction, device: Device, types: Mapping[Ref, TensorType]
    ) -> Yes | No:
        if has_cpu_kernel(instruction.opcode):
            return Yes()
        return No(f"{instruction.opcode} has no kernel for the cpu")

    def compile(self, program: Program, tensors: Mapping[str, torch.Tensor]) -> Executable:
        return HostExecutable(program, tensors)
