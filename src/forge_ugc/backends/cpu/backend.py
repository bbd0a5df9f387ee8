"""The `cpu` target: the native engine, and PyTorch's operators where it has no kernel."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from forge_ugc import native
from forge_ugc.backends.base import Availability, Backend, Executable, No, Yes, register
from forge_ugc.backends.host import HostExecutable
from forge_ugc.backends.host_steps import has_cpu_kernel
from forge_ugc.npuir.instruction import Device, Instruction, Ref
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType
from forge_ugc.options import Options


@register("cpu", devices=("cpu",))
class CpuBackend(Backend):
    """Runs on any machine."""

    makes_late = True

    def probe(self) -> Availability:
        missing = native.missing()
        if missing is not None:
            return Availability(
                available=True,
                reason=f"runs through PyTorch's operators alone: no native engine ({missing})",
            )
        return Availability(available=True, reason=f"native engine, {native.isa_cap()}")

    def supports(
        self, instruction: Instruction, device: Device, types: Mapping[Ref, TensorType]
    ) -> Yes | No:
        if has_cpu_kernel(instruction.opcode):
            return Yes()
        return No(f"{instruction.opcode} has no kernel for the cpu")

    def compile(
        self, program: Program, tensors: dict[str, torch.Tensor], options: Options
    ) -> Executable:
        if native.missing() is not None or not options.native:
            return HostExecutable(program, tensors)
        from forge_ugc.backends.cpu.executable import NativeExecutable

        threads = options.threads or torch.get_num_threads()
        return NativeExecutable(program, tensors, threads=threads, pin_threads=options.pin_threads)
