"""The published mapping: attention by heads, one kernel a layer, everything on streams.

Source: arXiv 2606.17500. Each head has five tiles (projections of queries, keys and values, scores,
context); a tree of concatenations brings the heads together to the two streams that the output
projection can read; dense layers, sums and the rest take one tile each.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from forge_ugc.backends.aie.design import Design
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.mapping.attention import map_attention
from forge_ugc.backends.aie.mapping.source import Source
from forge_ugc.backends.aie.mapping.steps import STEPS, State, one_stream
from forge_ugc.backends.aie.mapping.wiring import Wiring
from forge_ugc.npuir.program import Program

NAME = "published"


def map_published(
    program: Program, tensors: Mapping[str, torch.Tensor], device: AieDevice
) -> Design:
    """A design of one tile a kernel; the jet tagger of the publication takes 57.

    Args:
        program: int8 operators over one jet: `int8_linear`, `int8_attention`, `int8_add`,
            `int8_pool`, `int8_softmax`, `aten.relu.default`.
        tensors: the program's constants by name.

    Raises:
        UnsupportedOperatorError: an instruction has no kernel, or one that it is not made for.
    """
    source = Source(program, tensors)
    wiring = Wiring(program.name, device, NAME)
    state = State(source, wiring)
    for declared in program.inputs:
        state.declare_input(declared)
    for index, instruction in enumerate(program.instructions):
        if instruction.opcode == "int8_attention":
            map_attention(state, index)
        elif instruction.opcode in STEPS:
            STEPS[instruction.opcode](state, index)
        else:
            raise source.unsupported(index, "it has no kernel")
    for number, ref in enumerate(program.outputs):
        result = one_stream(state, state.activation(ref), "output", "the result")
        name = "output" if len(program.outputs) == 1 else f"output_{number}"
        wiring.output(name, result.parts[0].source, result.rows, result.columns)
    return wiring.design()
