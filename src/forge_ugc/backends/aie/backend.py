"""The `aie` target: int8 programs for AMD AI Engines."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

import torch

from forge_ugc.backends.base import Availability, Backend, Executable, No, Yes, register
from forge_ugc.backends.host import HostExecutable
from forge_ugc.errors import OptionError, QuantizationError
from forge_ugc.npuir.instruction import Device, Instruction, Ref
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.options import Options
from forge_ugc.quantization.report import Quantized

INTEGER = frozenset({"int8_linear", "int8_attention", "int8_add", "int8_pool", "int8_softmax"})
HOSTED = frozenset({"int8_quantize", "int8_dequantize"})
COMPILERS = ("g++", "clang++")


@register("aie", devices=("aie", "cpu"))
class AieBackend(Backend):
    """Quantises a float program to int8, and runs what the array of AI Engines will compute.

    Numbers become integers and integers numbers again on the cpu. Results are those of the int8
    operators' definitions, which the generated kernels have to give bit for bit.
    """

    passes = ("dead-code", "device-constants", "fold-constants", "common-subexpressions",
              "fuse-attention")  # fmt: skip
    quantizes = True

    def probe(self) -> Availability:
        compiler = next((name for name in COMPILERS if shutil.which(name)), None)
        if compiler is None:
            return Availability(
                available=True, reason="golden integers; no simulator: no C++ compiler is found"
            )
        return Availability(
            available=True, reason=f"golden integers; simulator built by {compiler}"
        )

    def supports(
        self, instruction: Instruction, device: Device, types: Mapping[Ref, TensorType]
    ) -> Yes | No:
        from forge_ugc.backends.aie.quantizer.operators import refusal

        opcode = instruction.opcode
        if opcode in HOSTED:
            return Yes() if device == "cpu" else No("numbers become integers on the cpu")
        if device == "cpu":
            return No("the cpu only turns numbers into integers and back")
        if opcode in INTEGER:
            return Yes()
        refused = refusal(opcode)
        return Yes() if refused is None else No(refused[0], refused[1])

    def quantize(
        self, program: Program, tensors: Mapping[str, torch.Tensor],
        batches: Sequence[Sequence[torch.Tensor]], options: Options,
    ) -> Quantized:  # fmt: skip
        from forge_ugc.backends.aie.quantizer.quantize import quantize

        if options.precision is not None:
            raise OptionError(
                f"precision={options.precision!r} has no meaning for target 'aie'",
                fix="leave it out: the target computes in int8",
            )
        return quantize(program, tensors, [batch[0] for batch in batches if batch], options.integer)

    def compile(
        self, program: Program, tensors: dict[str, torch.Tensor], options: Options
    ) -> Executable:
        for instruction in program.instructions:
            kinds = [result.type.dtype for result in instruction.results]
            if not instruction.is_view and instruction.opcode not in HOSTED and kinds != [DType.I8]:
                raise QuantizationError(
                    f"a program for target 'aie' holds {instruction.opcode}, which is not int8",
                    where=str(instruction.location or ""),
                    fix="compile the module with calibration=batches",
                )
        if options.integer.run == "simulator":
            from forge_ugc.backends.aie.executable import SimulatedExecutable

            return SimulatedExecutable(program, tensors, options.integer)
        executable = HostExecutable(program, tensors)
        executable.runs = "golden: the definitions of the int8 operators"
        return executable
