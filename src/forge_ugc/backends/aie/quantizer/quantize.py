"""Post-training quantisation of a float program to int8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from forge_ugc.backends.aie.quantizer.emit import Emitter
from forge_ugc.backends.aie.quantizer.graph import Input, Node, evaluated, ordered
from forge_ugc.backends.aie.quantizer.ranges import measure, with_relu
from forge_ugc.backends.aie.quantizer.recognise import Recognised, recognise
from forge_ugc.errors import InternalError, QuantizationError, UnsupportedOperatorError
from forge_ugc.npuir.instruction import Device, Reg
from forge_ugc.npuir.program import InputDecl, Program
from forge_ugc.ops.core.interpreter import interpret
from forge_ugc.ops.int8_dequantize import Int8Dequantize
from forge_ugc.ops.int8_quantize import Int8Quantize
from forge_ugc.options import IntegerOptions
from forge_ugc.quantization.builder import Builder, Value
from forge_ugc.quantization.report import (
    LayerNoise,
    QuantizationReport,
    Quantized,
    agreement,
    divergence,
    noise,
)

AIE, HOST = Device("aie"), Device("cpu")
_SAME = 1e-3
"""Largest relative difference of the recognised layers from the program that they come from."""


def quantize(
    program: Program,
    tensors: Mapping[str, torch.Tensor],
    batches: Sequence[torch.Tensor],
    options: IntegerOptions,
) -> Quantized:
    """The int8 program of a float one, with ranges from calibration batches.

    Args:
        program: lowered, with attention fused and nothing else; one f32 input.
        batches: values of that input.

    Raises:
        UnsupportedOperatorError: a part has no integer kernel.
        QuantizationError: there are no batches, or a factor is out of range.
    """
    if not batches:
        raise QuantizationError("there are no calibration batches", fix="give at least one")
    found = recognise(program, tensors)
    matrices = [b.reshape(found.jets * found.input.rows, found.input.columns) for b in batches]
    _check_layers(program, tensors, found, batches[0], matrices[0])
    nodes = with_relu([output.node for output in found.outputs])
    with torch.no_grad():
        ranges = measure(nodes, matrices, found.jets, options.calibration, options.percentile)
    builder = Builder(name=program.name, where="input")
    x = _quantized_input(builder, program.inputs[0], batches, ranges.steps[id(found.input)], found)
    emitter = Emitter(builder, ranges, options.softmax, options.calibration)
    values = emitter.emit(nodes, x)
    results = []
    for output, node in zip(found.outputs, nodes, strict=True):
        if not output.is_in_order(found.jets):
            raise UnsupportedOperatorError(
                f"an output of {program.name} is layer {node.name} with its axes moved",
                fix="return it as [jets, particles, features]",
            )
        builder.where = "output"
        value = builder.view(values[id(node)], tuple(output.index.shape))
        results.append(builder.append(Int8Dequantize(step=value.step), (value,), {}, 1.0))
    made = _on_devices(builder.program("aie", results))
    report = _report(options, nodes, values, matrices, found.jets)
    return Quantized(program=made, tensors=dict(builder.tensors), report=report)


def _quantized_input(
    builder: Builder, declared: InputDecl, batches: Sequence[torch.Tensor], step: float,
    found: Recognised,
) -> Value:  # fmt: skip
    builder.inputs.append(InputDecl(Reg(0), declared.name, declared.type))
    x = Value(reg=Reg(0), type=declared.type, step=1.0, sample=torch.stack(list(batches)))
    step = step or 1.0
    q = builder.append(Int8Quantize(step=step), (x,), {}, step)
    return builder.view(q, (found.jets, found.input.rows, found.input.columns))


def _on_devices(program: Program) -> Program:
    """Quantising and back on the host, everything between on the array."""
    hosted = {Int8Quantize.name, Int8Dequantize.name}
    return replace(program, instructions=tuple(
        i if i.is_view else replace(i, device=HOST if i.opcode in hosted else AIE)
        for i in program.instructions
    ))  # fmt: skip


def _check_layers(
    program: Program, tensors: Mapping[str, torch.Tensor], found: Recognised,
    batch: torch.Tensor, matrix: torch.Tensor,
) -> None:  # fmt: skip
    """The layers compute what the program does, whatever was folded into them.

    Raises:
        InternalError: they do not.
    """
    wanted = interpret(program, tensors, [batch])
    with torch.no_grad():
        got = {
            id(node): value
            for node, value, _ in evaluated([o.node for o in found.outputs], matrix, found.jets)
        }
    for output, want in zip(found.outputs, wanted, strict=True):
        have = got[id(output.node)].flatten()[output.index]
        wrong = noise(want, have)
        if not wrong <= _SAME:
            raise InternalError(
                f"the layers read from {program.name} compute something else",
                why=f"the relative difference is {wrong:.1e} in {output.node.name}",
                fix="report this with the model",
            )


def _report(
    options: IntegerOptions, outputs: Sequence[Node], values: Mapping[int, Value],
    matrices: Sequence[torch.Tensor], jets: int,
) -> QuantizationReport:  # fmt: skip
    nodes = [node for node in ordered(outputs) if not isinstance(node, Input)]
    exact: dict[int, list[torch.Tensor]] = {id(node): [] for node in nodes}
    with torch.no_grad():
        for matrix in matrices:
            for node, value, _ in evaluated(outputs, matrix, jets):
                if not isinstance(node, Input):
                    exact[id(node)].append(value)
    layers = tuple(_layer_noise(node, exact[id(node)], values[id(node)]) for node in nodes)
    first = outputs[0]
    want = torch.cat(exact[id(first)])
    got = _integers(values[id(first)]).view(want.shape) * values[id(first)].step
    kl = divergence(want, got)
    return QuantizationReport(
        method=options.calibration, softmax=options.softmax, jets=len(matrices) * jets,
        layers=layers, kl_mean=float(kl.mean()), kl_max=float(kl.max()),
        agreement=agreement(want, got), relative_error=noise(want, got),
        max_abs_error=float((want - got).abs().max()),
    )  # fmt: skip


def _layer_noise(node: Node, exact: list[torch.Tensor], value: Value) -> LayerNoise:
    want, q = torch.cat(exact), _integers(value)
    saturated = (q == 127) | (q == -128)
    return LayerNoise(
        name=node.name, kind=type(node).__name__.lower(), step=value.step,
        noise=noise(want, q.view(want.shape) * value.step),
        saturated=float(saturated.double().mean()),
    )  # fmt: skip


def _integers(value: Value) -> torch.Tensor:
    if value.sample is None:
        raise InternalError("a quantised layer was not run on the calibration data")
    return value.sample.double()
