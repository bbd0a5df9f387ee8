"""Runs the integer part of a compiled program in the simulator."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from forge_ugc.backends.aie.device import device_named
from forge_ugc.backends.aie.jets import array_part
from forge_ugc.backends.aie.pipeline import build
from forge_ugc.backends.aie.placement import floorplan
from forge_ugc.backends.aie.simulation import simulate_design
from forge_ugc.backends.base import Executable
from forge_ugc.npuir.program import Program
from forge_ugc.ops.int8_dequantize import Int8Dequantize
from forge_ugc.ops.int8_quantize import Int8Quantize
from forge_ugc.options import IntegerOptions


class SimulatedExecutable(Executable):
    """Each call simulates the generated kernels on its jets; the host turns numbers to integers.

    The project lies in a folder of its own as long as the executable lives.
    """

    def __init__(
        self, program: Program, tensors: Mapping[str, torch.Tensor], options: IntegerOptions
    ) -> None:
        self._part = array_part(program, tensors)
        types = program.types()
        self._types = [types[ref] for ref in program.outputs]
        self._folder = tempfile.TemporaryDirectory(prefix="forge_ugc_aie_")
        self._design = build(
            self._part.program, self._part.tensors, device=device_named(options.device),
            mapping=options.mapping, folder=Path(self._folder.name),
        )  # fmt: skip
        self.floorplan = floorplan(self._design)
        self.host_instructions = {"int8_quantize": 1, "int8_dequantize": len(self._types)}
        self.runs = f"simulator: {len(self._design.kernels)} generated kernels"
        self._lock = threading.Lock()  # the folder holds the files of one run

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        part = self._part
        kinds = part.program.types()
        rows, columns = kinds[part.program.inputs[0].reg].shape
        q = Int8Quantize(step=part.step).eval(inputs[0]).reshape(part.jets, rows, columns)
        shapes = [(kinds[ref].shape[0], kinds[ref].shape[1]) for ref in part.program.outputs]
        with self._lock:
            found = simulate_design(self._design, Path(self._folder.name), q.numpy(), shapes)
        return [
            Int8Dequantize(step=step).eval(torch.from_numpy(output)).reshape(kind.shape)
            for output, step, kind in zip(found.outputs, part.steps, self._types, strict=True)
        ]
